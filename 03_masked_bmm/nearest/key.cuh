// A value and its index in one number: whoever is smaller as a number has the smaller value, or of
// equal values the smaller index. So one atomicMin keeps both, and they always belong together.
#pragma once

#include <cuda_runtime.h>

#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

inline constexpr Key NOTHING = ~Key{0};  // larger than every key; its value is NaN

/// The bits of a float32 count up with its magnitude, behind a sign bit. So a positive number gets
/// the bit set, and a negative one all bits inverted: then the bits count up from -∞ to +∞. No NaN.
__device__ inline Key key_of(float value, int index) {
  const unsigned bits = __float_as_uint(value + 0.0f);  // -0 becomes 0
  const unsigned ordered = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
  return Key{ordered} << 32 | static_cast<unsigned>(index);
}
__device__ inline float value_of(Key key) {
  const unsigned ordered = static_cast<unsigned>(key >> 32);
  return __uint_as_float(ordered ^ (ordered >> 31 ? 0x80000000u : 0xffffffffu));
}
/// The upper half of a key: counts up with the value, which is not NaN.
__device__ inline unsigned bits_of(float value) {
  return static_cast<unsigned>(key_of(value, 0) >> 32);
}
/// -1 of NOTHING.
__device__ inline int index_of(Key key) {
  return static_cast<int>(static_cast<unsigned>(key));
}

/// The smallest key of the warp's 32 lanes, in every lane.
__device__ inline Key warp_min(Key key) {
  for (int offset = 16; offset > 0; offset /= 2)
    key = min(key, __shfl_xor_sync(0xffffffffu, key, offset));
  return key;
}

}  // namespace tutorial::masked_bmm::nearest
