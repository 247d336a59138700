// Words of this part for launchers: what TMA can take, and the maps that it needs.
#pragma once

#include <algorithm>
#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/tensor_map.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::hopper {

using tensor_cores::require_no_epilogue, tensor_cores::require_plain;

/// Throws Error where there are no warpgroup products: they are on compute capability 9.0 alone.
inline void require_sm_90a(const char* step) {
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  const int minor = device_attribute(cudaDevAttrComputeCapabilityMinor);
  if (major != 9 || minor != 0)
    throw Error(std::string(step) + " needs compute capability 9.0, and this device has " +
                std::to_string(major) + "." + std::to_string(minor) +
                "; take a step of part tensor_cores");
}

/// The map of a row-major matrix (rows, cols) from which tiles (tile_rows, tile_cols) are copied,
/// with the swizzle for rows of 128 bytes.
template <class T>
CUtensorMap map_of(const T* X, int64_t rows, int64_t cols, int tile_rows, int tile_cols) {
  const auto size = [](int64_t number) { return static_cast<uint64_t>(number); };
  return tensor_map(X, {size(cols), size(rows)}, {size(cols)},
                    {static_cast<uint32_t>(tile_cols), static_cast<uint32_t>(tile_rows)});
}

/// From step 11 on: the same of `batch` matrices whose rows begin ld elements apart, and they
/// themselves `stride`.
template <class T>
CUtensorMap map_of(const T* X, int64_t batch, int64_t stride, int64_t rows, int64_t cols,
                   int64_t ld, int tile_rows, int tile_cols) {
  const auto size = [](int64_t number) { return static_cast<uint64_t>(number); };
  return tensor_map(X, {size(cols), size(rows), size(batch)}, {size(ld), size(stride)},
                    {static_cast<uint32_t>(tile_cols), static_cast<uint32_t>(tile_rows), 1});
}

}  // namespace tutorial::tiled_matmul::hopper
