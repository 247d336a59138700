// For the tests of CUDA's constructs: a kernel's output, on the host.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"

// From compute capability 8.0 on CUDA has the arithmetic of bfloat16 and __reduce_add_sync() and
// its kin: before it, kernels that use them are empty, and their tests are skipped.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HAS_SM_80 1
#endif
inline void need_sm_80() {
  if (!tutorial::device_has_clock()) return;  // the simulator has all of it
  const std::string reason = tutorial::why_not_here("sm_80");
  if (!reason.empty()) SKIP(reason);
}

inline std::vector<unsigned> random_bits(size_t count) {
  std::mt19937 random(7);
  std::vector<unsigned> bits(count);
  for (unsigned& x : bits) x = static_cast<unsigned>(random());
  return bits;
}

/// Calls `launch` with room for `count` elements in global memory, all bits set, and gives back
/// what the kernel left there.
template <class T, class Launch>
std::vector<T> run_kernel(int64_t count, Launch launch) {
  tutorial::DeviceBuffer<T> out(count);
  launch(out.data());
  CUDA_CHECK_LAUNCH();
  std::vector<T> result = out.to_host();
  CHECK(out.guards_intact());
  return result;
}
