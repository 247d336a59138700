// Powers of 2, which a GPU has an instruction for, in place of exp(): what a softmax needs.
#pragma once

#include <ptx.h>

#include <cmath>

namespace tutorial {

inline constexpr float LOG2_E = 1.44269504f;  // exp(x) = 2^(LOG2_E·x)
inline constexpr float LN_2 = 0.693147181f;   // log(x) = LN_2·log2(x)

/// 2^x in one instruction, with an error of at most 2 units in the last place; results below 2^-126
/// are zero. exp2f() takes two more instructions to keep them. (PTX ISA, "ex2.approx.ftz.f32".)
__device__ inline float exp2_approx(float x) {
  return ptx::exp2_approx(x);
}

/// What is subtracted from scores whose maximum is m. After −∞ alone it is 0: −∞ − (−∞) is NaN.
__device__ inline float finite_max(float m) {
  return m == -INFINITY ? 0.0f : m;
}

}  // namespace tutorial
