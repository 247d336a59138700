// The operands of a step: rounded on the GPU, and what the reference needs of them.
#pragma once

#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::flash_attention::fp8 {

/// A tensor (heads, T, HS) in e4m3 with its scales, in global memory.
struct Rounded {
  DeviceBuffer<e4m3> values;
  DeviceBuffer<float> scales;

  /// `offset`: elements from an address that is a multiple of 256 bytes.
  Rounded(const std::vector<float>& X, int64_t heads, int64_t T, int64_t HS, int64_t offset = 0)
      : values(heads * T * HS, offset), scales(heads) {
    const DeviceBuffer<float> x(X);
    quantise(x.data(), heads, T, HS, values.data(), scales.data(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());  // x is needed until then
  }
  Operand to_host() const { return {widened<e4m3>(values.to_host()), scales.to_host()}; }
};

/// The three of an attention.
struct Operands {
  Rounded q, k, v;

  Operands(const Attention& s, const std::vector<float>& q, const std::vector<float>& k,
           const std::vector<float>& v, int64_t of_q = 0, int64_t of_k = 0, int64_t of_v = 0)
      : q(q, s.B * s.NH, s.Tq, s.HS, of_q),
        k(k, s.B * s.NH_kv, s.Tk, s.HS, of_k),
        v(v, s.B * s.NH_kv, s.Tk, s.HS, of_v) {}
  Scales on_device() const { return {q.scales.data(), k.scales.data(), v.scales.data()}; }
};

}  // namespace tutorial::flash_attention::fp8
