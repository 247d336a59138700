// Maps, and what is refused.
#include "fp8/launch.hpp"

#include <limits>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/fp8.cuh"

namespace tutorial::flash_attention::fp8 {
namespace {

/// A tile further is an int, too.
constexpr int64_t LARGEST_COUNT = std::numeric_limits<int32_t>::max() - 512;

Swizzle swizzle_of(int row_bytes) {
  return row_bytes == 128  ? Swizzle::bytes_128
         : row_bytes == 64 ? Swizzle::bytes_64
                           : Swizzle::bytes_32;
}

/// (heads, rows, cols) without gaps, in boxes (box_rows, box_cols).
CUtensorMap map_of(const e4m3* tensor, int64_t heads, int64_t rows, int64_t cols, int box_rows,
                   int box_cols) {
  const auto size = [](int64_t number) { return static_cast<uint64_t>(number); };
  return tensor_map(tensor, {size(cols), size(rows), size(heads)}, {size(cols), size(rows * cols)},
                    {static_cast<uint32_t>(box_cols), static_cast<uint32_t>(box_rows), 1},
                    swizzle_of(box_cols));
}

}  // namespace

void require_supported(const Attention& shape, const char* step, const e4m3* q, const e4m3* k,
                       const e4m3* v, const bf16* out) {
  require_valid(shape);
  const std::string size = "head size " + std::to_string(shape.HS);
  if (shape.HS % 16 != 0)
    throw Error(size +
                " is no multiple of 16, and TMA takes rows of whole 16 bytes; pad it with zeros, "
                "or take ./learn run 06/hopper.");
  if (shape.HS > 128)
    throw Error(size + " is too large for " + step +
                ", which keeps O in registers and takes at most 128; take ./learn run 06/hopper.");
  if (!tensor_cores::all_aligned(q, k, v, out))
    throw Error(std::string(step) +
                " loads by TMA, and q, k, v or out does not begin at a multiple of 16 bytes; copy "
                "it to one that does.");
  for (const int64_t count : {shape.B * shape.NH, shape.Tq, shape.Tk})
    if (count > LARGEST_COUNT)
      throw Error(std::string(step) +
                  " counts rows and heads in 32 bits, as TMA does, and there are " +
                  std::to_string(count) + "; take smaller sizes.");
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9)
    throw Error(std::string(step) +
                " needs a GPU of compute capability 9.0, for wgmma and TMA; take ./learn run "
                "06/tensor_cores.");
}

CUtensorMap queries_map(const Attention& shape, const e4m3* tensor, int rows, int D) {
  return map_of(tensor, shape.B * shape.NH, shape.Tq, shape.HS, rows, D);
}

CUtensorMap keys_map(const Attention& shape, const e4m3* tensor, int rows, int D,
                     const e4m3* instead) {
  if (shape.Tk == 0) return queries_map(shape, instead, rows, D);
  return map_of(tensor, shape.B * shape.NH_kv, shape.Tk, shape.HS, rows, D);
}

CUtensorMap columns_map(const Attention& shape, const e4m3* tensor, int keys, int D,
                        const e4m3* instead) {
  if (shape.Tk == 0) return queries_map(shape, instead, D, keys);
  return map_of(tensor, shape.B * shape.NH_kv, shape.HS, padded_keys(shape), D, keys);
}

int64_t workspace_bytes(const Attention& shape) {
  return hopper::workspace_bytes(shape) +
         Workspace::bytes_of<e4m3>(shape.B * shape.NH_kv * shape.HS * padded_keys(shape));
}

TileSizes tile_sizes(Launcher* step, const Attention& shape) {
  const bool is_third = hopper::queries_of_block(shape) == 192;  // of a head size up to 64
  if (step == wide_tiles && shape.HS > 64) return {128, 192};
  return {(step == third_consumer || step == wide_tiles) && is_third ? 192 : 128, 128};
}

}  // namespace tutorial::flash_attention::fp8
