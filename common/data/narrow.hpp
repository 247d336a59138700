// Numbers of 16 bits for kernels whose tensors are narrower than the float32 of the files.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tutorial {

/// Each value rounded to T, __nv_bfloat16 or __half, to nearest even.
template <class T>
std::vector<T> narrowed(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// What a T holds is exact in float32: what a reference computes with.
template <class T>
std::vector<float> widened(std::span<const T> values) {
  std::vector<float> wide(values.size());
  std::ranges::transform(values, wide.begin(), [](T x) { return static_cast<float>(x); });
  return wide;
}
template <class T>
std::vector<float> rounded_to(std::span<const float> values) {
  return widened<T>(narrowed<T>(values));
}

/// How many finite values T rounds to infinity.
template <class T>
int64_t count_overflows(std::span<const float> values) {
  return std::ranges::count_if(
      values, [](float x) { return std::isfinite(x) && std::isinf(static_cast<float>(T(x))); });
}

}  // namespace tutorial
