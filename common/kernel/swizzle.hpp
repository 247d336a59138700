// The swizzles of tiles in shared memory, as TMA writes and wgmma reads them: tensor_map.hpp has
// the picture.
#pragma once

#include <cuda_runtime.h>

namespace tutorial {

/// The bytes of a row whose pieces of 16 bytes change places. The numbers are those of wgmma's
/// descriptor. (PTX ISA, "Matrix Descriptor".)
enum class Swizzle { none = 0, bytes_128 = 1, bytes_64 = 2, bytes_32 = 3 };

__host__ __device__ constexpr int bytes_of(Swizzle swizzle) {
  return swizzle == Swizzle::bytes_128  ? 128
         : swizzle == Swizzle::bytes_64 ? 64
         : swizzle == Swizzle::bytes_32 ? 32
                                        : 16;
}

/// Where the byte lies that would lie at `byte` without the swizzle. Counted from an address that
/// is a multiple of 1024 bytes.
__host__ __device__ constexpr unsigned swizzled(unsigned byte, Swizzle swizzle) {
  const unsigned pieces = static_cast<unsigned>(bytes_of(swizzle)) / 16 - 1;
  return byte ^ ((byte >> 7 & pieces) << 4);
}

}  // namespace tutorial
