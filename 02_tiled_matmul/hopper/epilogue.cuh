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

/// act(alpha·sum + beta·C + bias). Columns from N on have neither bias nor C; where C is read, N is
/// even.
template <class Out>
struct Epilogue {
  float alpha, beta;
  const float* bias;  // or nullptr
  bool has_gelu;
  const Out* C;  // what stands there before; not read where beta is 0
  int M, N;
  int64_t ldc, stride_c;

  /// For pairs of sums 8 columns apart, the first of which are in rows `row` and `row` + 8 of
  /// product `number` and in column `col`: four of d for each 8 columns. Whether there
  /// is a bias, a beta or a GELU is asked once for all of them, so that their loads, exponentials
  /// and divisions do not wait for each other.
  template <int COUNT>
  __device__ void apply(float (&d)[COUNT], int number, int row, int col) const {
    constexpr int COLS = (COUNT + 3) / 4;  // pairs of columns
    float2 add[COLS] = {};
    if (bias != nullptr) {
#pragma unroll
      for (int j = 0; j < COLS; ++j) {
        if (col + 8 * j < N) add[j].x = bias[col + 8 * j];
        if (col + 8 * j + 1 < N) add[j].y = bias[col + 8 * j + 1];
      }
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      d[i] = alpha * d[i] + (i % 2 == 0 ? add[i / 4].x : add[i / 4].y);
    if (beta != 0) {
#pragma unroll
      for (int i = 0; i < COUNT; i += 2) {
        const int c = col + i / 4 * 8, r = row + i % 4 * 4;
        if (r >= M || c >= N) continue;
        const float2 old = load_pair(C + number * stride_c + r * ldc + c);
        d[i] += beta * old.x, d[i + 1] += beta * old.y;
      }
    }
    if (has_gelu) {
#pragma unroll
      for (float& x : d) x = gelu(x);
    }
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
