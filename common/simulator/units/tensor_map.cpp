// The driver's functions that a program asks for by name.
#include "common/simulator/units/tensor_map.hpp"

#include <cstring>

#include "cuda.h"

using namespace simulator;

namespace {

int element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
  }
  return 0;
}

int swizzle_bytes(CUtensorMapSwizzle swizzle) {
  constexpr int BYTES[] = {16, 32, 64, 128};
  return swizzle <= CU_TENSOR_MAP_SWIZZLE_128B ? BYTES[swizzle] : 0;
}

}  // namespace

/// Refuses what the driver refuses (CUDA Driver API, "cuTensorMapEncodeTiled"), and tiles of other
/// kinds than those that the words of common/kernel/ make.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* array, const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const int element = element_bytes(type), width = swizzle_bytes(swizzle);
  if (map == nullptr || extents == nullptr || strides == nullptr || box == nullptr ||
      element_strides == nullptr || rank < 1 || rank > 5 || element == 0 || width == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
      promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return CUDA_ERROR_INVALID_VALUE;
  if (array == nullptr || reinterpret_cast<uintptr_t>(array) % 16 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMapImage image{};
  image.mark = TensorMapImage::kMark;
  image.array = reinterpret_cast<uint64_t>(array);
  image.element = static_cast<uint8_t>(element);
  image.rank = static_cast<uint8_t>(rank);
  image.swizzle = static_cast<uint16_t>(width);
  for (cuuint32_t d = 0; d < 5; ++d) {
    image.extents[d] = d < rank ? extents[d] : 1;
    image.box[d] = d < rank ? static_cast<uint16_t>(box[d]) : uint16_t{1};
    image.strides[d] = d == 0 ? static_cast<uint64_t>(element) : d < rank ? strides[d - 1] : 0;
    if (d >= rank) continue;
    if (extents[d] == 0 || extents[d] > uint64_t{1} << 32) return CUDA_ERROR_INVALID_VALUE;
    if (box[d] == 0 || box[d] > 256 || element_strides[d] != 1) return CUDA_ERROR_INVALID_VALUE;
    if (d > 0 && (image.strides[d] % 16 != 0 || image.strides[d] >= uint64_t{1} << 40))
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (image.row_bytes() % 16 != 0 || (width > 16 && image.row_bytes() > width))
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &image, sizeof image);
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
  const bool is_known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *function = is_known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found) *found = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return is_known || found ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, found);
}
