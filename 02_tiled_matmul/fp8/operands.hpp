// The operands of a step: rounded on the GPU, and what the reference needs of them.
#pragma once

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {

/// A matrix (R, K) in e4m3 with its scales, in global memory, from float32 that lies there, too.
struct Rounded {
  DeviceBuffer<e4m3> values;
  DeviceBuffer<float> scales;
  Groups groups;

  /// `offset`: elements from an address that is a multiple of 256 bytes.
  Rounded(const float* X, int64_t R, int64_t K, const Groups& groups, int64_t offset = 0)
      : values(R * K, offset), scales(count_of(groups, R, K)), groups(groups) {
    quantise(X, R, K, groups, values.data(), scales.data(), nullptr);
  }
  Operand to_host() const { return {widened<e4m3>(values.to_host()), scales.to_host(), groups}; }
};

/// Both operands of a product.
struct Operands {
  Rounded A, B;
  Operands(const float* A, const float* B, const Fp8Product& product, Scaling scaling,
           int64_t offset_a = 0, int64_t offset_b = 0)
      : A(A, product.M, product.K, groups_of(scaling, false, product.M, product.K), offset_a),
        B(B, product.N, product.K, groups_of(scaling, true, product.N, product.K), offset_b) {}
  Scales scales() const { return {A.scales.data(), B.scales.data()}; }
};

}  // namespace tutorial::tiled_matmul::fp8
