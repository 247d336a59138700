// For the tests of CUDA's constructs: a kernel's output, on the host.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"

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
