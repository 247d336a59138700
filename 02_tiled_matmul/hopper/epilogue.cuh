// Words of step 12: what becomes of a finished sum before it is stored.
#pragma once

#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {

/// GELU by its tanh form, as GPT-2 has it: x/2·(1 + tanh u) with u = √(2/π)·(x + 0.044715·x³). That
/// is x / (1 + exp(−2u)), and takes two of the units for special functions.
__device__ inline float gelu(float x) {
  constexpr float TWICE_SQRT_2_BY_PI = 1.5957691216f;
  const float twice_u = TWICE_SQRT_2_BY_PI * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1 + __expf(-twice_u));
}

/// Two neighbours in one access.
__device__ inline float2 load_pair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
__device__ inline float2 load_pair(const bf16* from) {
  const uint32_t both = *reinterpret_cast<const uint32_t*>(from);
  return make_float2(__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000u));
}

/// act(alpha·sum + beta·C + bias) for pairs of sums. Columns from N on have neither bias nor C;
/// where C is read, N is even.
template <class Out>
struct Epilogue {
  float alpha, beta;
  const float* bias;  // or nullptr
  bool has_gelu;
  const Out* C;  // what stands there before; not read where beta is 0
  int M, N;
  int64_t ldc, stride_c;

  __device__ float2 bias_of(int col) const {
    if (bias == nullptr) return make_float2(0, 0);
    return make_float2(col < N ? bias[col] : 0.0f, col + 1 < N ? bias[col + 1] : 0.0f);
  }
  /// The pair in these columns of a row of product `number`, and its bias.
  __device__ void apply(float& first, float& second, int number, int row, int col, float2 b) const {
    float2 old = make_float2(0, 0);
    if (beta != 0 && row < M && col < N) old = load_pair(C + number * stride_c + row * ldc + col);
    first = alpha * first + (beta * old.x + b.x);
    second = alpha * second + (beta * old.y + b.y);
    if (has_gelu) first = gelu(first), second = gelu(second);
  }
};

/// … of a product, whose distances spelled_out() gave.
template <class Out>
Epilogue<Out> epilogue_of(const Bf16Product& p, const Out* C) {
  return {.alpha = p.alpha,
          .beta = p.beta,
          .bias = p.bias,
          .has_gelu = p.act == Activation::gelu,
          .C = C,
          .M = static_cast<int>(p.M),
          .N = static_cast<int>(p.N),
          .ldc = p.ldc,
          .stride_c = p.stride_c};
}

}  // namespace tutorial::tiled_matmul::hopper
