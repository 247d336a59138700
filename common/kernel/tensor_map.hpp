// The tensor map: what the TMA unit (tma.cuh) knows of an array in global memory, made once on the
// host and handed to the kernel as `const __grid_constant__ CUtensorMap map`.
//
//   ├──────────── extents[0] ────────────┤        extents   the array's, of the inner dimension
//   ┌─────────┬─────────┬─────────┬──────┐ ┬                first; what lies outside is read as
//   │         │         │   box[0]│      │ │                zeros and not written
//   │         │         ├─────────┤      │ extents[1]
//   │         │         │ a tile: │box[1]│ │      strides   in elements, of the dimensions from the
//   │         │         │ one copy│      │ │                second on: from a row to the next
//   └─────────┴─────────┴─────────┴──────┘ ┴      box       the tile that one copy moves
//
// In shared memory a tile lies densely, its inner dimension without gaps. With a swizzle the pieces
// of 16 bytes of a row change places, by the number of the row, so that a column of pieces does not
// lie in the same banks; wgmma (wgmma.cuh) reads such tiles. SWIZZLE_128: rows of 128 bytes, and
// piece p of row r lies where piece p XOR r % 8 would:
//
//   row 0   0 1 2 3 4 5 6 7        SWIZZLE_64: rows of 64 bytes, p XOR r / 2 % 4
//   row 1   1 0 3 2 5 4 7 6        SWIZZLE_32: rows of 32 bytes, p XOR r / 4 % 2
//   row 2   2 3 0 1 6 7 4 5
//   row 3   3 2 1 0 7 6 5 4        (r counts from an address that is a multiple of 1024 bytes: the
//   …                              hardware takes the bits of the address)
//
// The driver makes a map, and refuses one that the unit cannot use; tensor_map() says why. (CUDA
// Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors".)
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/swizzle.hpp"

namespace tutorial {

/// The driver's function, asked for by name so that a program needs no driver to start.
inline auto find_tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
#else
  CUDA_CHECK(
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
  if (found != cudaDriverEntryPointSuccess)
    throw Error("the driver cannot make tensor maps: one of CUDA 12 or later is needed");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}
/// The same, asked for once: a map is made for each launch.
inline auto tensor_map_encoder() {
  static const auto encoder = find_tensor_map_encoder();
  return encoder;
}

template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  if constexpr (std::is_same_v<T, __half>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if constexpr (std::is_same_v<T, float>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

/// Why the driver would refuse: "" if it would not.
inline std::string why_no_tensor_map(const void* array, size_t element,
                                     const std::vector<uint64_t>& extents,
                                     const std::vector<uint64_t>& strides,
                                     const std::vector<uint32_t>& box, Swizzle swizzle) {
  if (extents.empty() || extents.size() > 5 || strides.size() + 1 != extents.size() ||
      box.size() != extents.size())
    return "it has one to five dimensions, and a stride for each but the first";
  if (reinterpret_cast<uintptr_t>(array) % 16 != 0)
    return "the array must begin at a multiple of 16 bytes";
  for (const uint64_t extent : extents)
    if (extent == 0 || extent > (uint64_t{1} << 32)) return "an extent is 1 to 2^32";
  for (const uint64_t stride : strides)
    if (stride * element % 16 != 0 || stride * element >= (uint64_t{1} << 40))
      return "a stride must be a multiple of 16 bytes below 2^40, and one is " +
             std::to_string(stride * element);
  for (const uint32_t side : box)
    if (side == 0 || side > 256)
      return "a side of the box is 1 to 256, and one is " + std::to_string(side);
  const size_t row = box[0] * element;
  if (row % 16 != 0)
    return "a row of the box must be a multiple of 16 bytes, and is " + std::to_string(row);
  if (swizzle != Swizzle::none && row > static_cast<size_t>(bytes_of(swizzle)))
    return "a row of the box is at most as long as the swizzle's " +
           std::to_string(bytes_of(swizzle)) + " bytes, and is " + std::to_string(row);
  return "";
}

/// The map of an array whose elements are floats, __nv_bfloat16 or __half. Throws Error with the
/// reason if there is none.
template <class T>
CUtensorMap tensor_map(const T* array, const std::vector<uint64_t>& extents,
                       const std::vector<uint64_t>& strides, const std::vector<uint32_t>& box,
                       Swizzle swizzle = Swizzle::bytes_128) {
  std::string reason = why_no_tensor_map(array, sizeof(T), extents, strides, box, swizzle);
  CUtensorMap map{};
  if (reason.empty()) {
    constexpr CUtensorMapSwizzle NAMES[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                            CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_32B};
    uint64_t stride_bytes[4] = {};
    for (size_t i = 0; i < strides.size(); ++i) stride_bytes[i] = strides[i] * sizeof(T);
    const uint32_t every_element[5] = {1, 1, 1, 1, 1};
    const CUresult result = tensor_map_encoder()(
        &map, tensor_map_type<T>(), static_cast<uint32_t>(extents.size()), const_cast<T*>(array),
        extents.data(), stride_bytes, box.data(), every_element, CU_TENSOR_MAP_INTERLEAVE_NONE,
        NAMES[static_cast<int>(swizzle)], CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) return map;
    reason = "the driver refused it with error " + std::to_string(static_cast<int>(result));
  }
  throw Error("no tensor map for this array: " + reason);
}

}  // namespace tutorial
