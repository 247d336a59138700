// What launchers of this part look at and make before they launch.
#pragma once

#include <cstdint>

#include "common/kernel/check.hpp"
#include "common/kernel/tensor_map.hpp"
#include "hopper/hopper.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::hopper {

using tensor_cores::with_padded_head_size;

/// Throws Error when the shape is invalid, its head size not a multiple of 8 up to `largest`, a
/// tensor does not begin at a multiple of 16 bytes, a size does not fit into a coordinate of TMA,
/// or the device is none of compute capability 9.0; and for what the step does not take.
void require_supported(const Attention& shape, const char* step, int64_t largest, const bf16* q,
                       const bf16* k, const bf16* v, const bf16* out, unsigned takes = 0);

/// The tensor maps of q and out: (heads, Tq, HS) in boxes of `rows` rows and 64 columns. And of k
/// and v. A tensor without rows, of which nothing is loaded, has the map of `instead`.
CUtensorMap queries_map(const Attention& shape, const bf16* tensor, int rows);
CUtensorMap keys_map(const Attention& shape, const bf16* tensor, int rows, const bf16* instead);

/// Can TMA bring all rows of tensor_cores::with_strides()?
bool all_rows_for_tma(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      const bf16* out);

/// Maps of four dimensions, (B, heads, T, HS), with the strides of tensor_cores::with_strides():
/// boxes of Br or Bc rows, and of 64 where a warpgroup stores its own.
struct StridedMaps {
  CUtensorMap q, k, v, out;
  StridedMaps(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, const bf16* out,
              int Br, int Bc);
};

/// Where a launch counts its tickets: in the workspace, from 0 on when the stream comes to it.
/// Throws Error when the workspace is too small.
unsigned long long* counter_from_0(const Attention& shape, const char* step, Workspace workspace,
                                   cudaStream_t stream);

/// How many blocks have an SM each, if there is so much to do.
unsigned blocks_that_stay(int64_t tiles);

}  // namespace tutorial::flash_attention::hopper
