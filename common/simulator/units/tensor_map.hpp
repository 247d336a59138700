// What a CUtensorMap holds here: the driver's own form of it is nobody's business.
#pragma once

#include <cstdint>

namespace simulator {

struct TensorMapImage {
  static constexpr uint64_t kMark = 0x70616d726f736e74;
  uint64_t mark;  // kMark: cuTensorMapEncodeTiled() has made it
  uint64_t array;
  uint64_t extents[5];  // the inner dimension first; 1 for those that it has not
  uint64_t strides[5];  // bytes; of the inner dimension an element
  uint16_t box[5];
  uint8_t element;  // bytes
  uint8_t rank;
  uint16_t swizzle;  // bytes: 16 (none), 32, 64 or 128

  int64_t row_bytes() const { return int64_t{box[0]} * element; }
  int64_t rows() const { return int64_t{box[1]} * box[2] * box[3] * box[4]; }
  int64_t bytes() const { return row_bytes() * rows(); }
};
static_assert(sizeof(TensorMapImage) <= 128);

/// Where the 16 bytes lie in shared memory that would lie at this address without a swizzle.
inline uintptr_t swizzled(uintptr_t address, unsigned bytes) {
  return address ^ ((address >> 7 & (bytes / 16 - 1)) << 4);
}

}  // namespace simulator
