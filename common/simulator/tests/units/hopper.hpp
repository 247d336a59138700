// For the tests of the words of compute capability 9.0a.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <random>
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

inline void need_sm_90a() {
  const std::string reason = tutorial::why_not_here("sm_90a");
  if (!reason.empty()) SKIP(reason);
}

template <class T>
T narrow_to(float value) {
  if constexpr (std::is_same_v<T, __half>)
    return __float2half(value);
  else
    return __float2bfloat16(value);
}

/// Small whole numbers, of which every product of a few hundred is exact: they differ only where
/// something is wrong.
template <class T>
std::vector<T> whole_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(narrow_to<T>(static_cast<float>(static_cast<int>(random() % 17) - 8)));
  return numbers;
}

inline float widened(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
inline float widened(__half value) {
  return __half2float(value);
}

/// A kernel that takes so much dynamic shared memory may be launched.
template <class... P>
void allow_shared(void (*kernel)(P...), int bytes) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}
