// For the stand-ins of the road and of the parts faster and any_shape: the reference in place of a
// step. What is behind out's elements are lse's.
#pragma once

#include <vector>

#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/testing/spoil.hpp"

namespace tutorial::flash_attention {

inline std::vector<float> on_host(const float* from, int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  CUDA_CHECK(
      cudaMemcpy(values.data(), from, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

/// out, then lse, in global memory. The program has one problem: so it takes long only once.
inline DeviceBuffer<float> right_result(const Attention& shape, const float* q, const float* k,
                                        const float* v) {
  static std::vector<float> values;
  if (values.empty()) {
    const int64_t size = shape.B * shape.NH_kv * shape.Tk * shape.HS;
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < shape.rows(); ++row) rows.push_back(row);
    const Reference want = reference(shape, on_host(q, shape.rows() * shape.HS), on_host(k, size),
                                     on_host(v, size), rows);
    values.assign(want.out.value.begin(), want.out.value.end());
    values.insert(values.end(), want.lse.value.begin(), want.lse.value.end());
  }
  return DeviceBuffer<float>(values);
}

inline void hand_over(const Attention& shape, const float* result, float* out, float* lse) {
  const auto copy = [](float* to, const float* from, int64_t size) {
    CUDA_CHECK(cudaMemcpy(to, from, size * sizeof(float), cudaMemcpyDeviceToDevice));
  };
  copy(out, result, shape.rows() * shape.HS);
  copy(lse, result + shape.rows() * shape.HS, shape.rows());
}

/// Does what a step does; wrong where the tests say so.
inline void hand_over_spoiled(const Attention& shape, const float* q, const float* k,
                              const float* v, float* out, float* lse) {
  if (shape.rows() * shape.HS == 0) return;
  DeviceBuffer<float> result = right_result(shape, q, k, v);
  spoil(result.data());
  hand_over(shape, result.data(), out, lse);
}

}  // namespace tutorial::flash_attention
