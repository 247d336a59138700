#include "hopper/launch.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

/// What a warpgroup stores at a time.
constexpr int ROWS_OF_STORE = 64;

/// A tile further is an int, too.
constexpr int64_t LARGEST_COUNT = std::numeric_limits<int32_t>::max() - 512;

/// (heads, T, HS), each head's rows without gaps.
CUtensorMap map_of(const bf16* tensor, int64_t heads, int64_t T, int64_t HS, int rows) {
  const auto unsigned_of = [](int64_t size) { return static_cast<uint64_t>(size); };
  return tensor_map(tensor, {unsigned_of(HS), unsigned_of(T), unsigned_of(heads)},
                    {unsigned_of(HS), unsigned_of(T * HS)}, {64, static_cast<uint32_t>(rows), 1});
}

/// (B, heads, T, HS). The inner dimension is the first one, and has no stride: its numbers are
/// neighbours.
CUtensorMap map_of(const bf16* tensor, int64_t B, int64_t heads, int64_t T, int64_t HS,
                   const Strides& strides, int rows) {
  const auto unsigned_of = [](int64_t size) { return static_cast<uint64_t>(size); };
  return tensor_map(
      tensor, {unsigned_of(HS), unsigned_of(T), unsigned_of(heads), unsigned_of(B)},
      {unsigned_of(strides.token), unsigned_of(strides.head), unsigned_of(strides.batch)},
      {64, static_cast<uint32_t>(rows), 1, 1});
}

}  // namespace

void require_supported(const Attention& shape, const char* step, int64_t largest, const bf16* q,
                       const bf16* k, const bf16* v, const bf16* out, unsigned takes) {
  tensor_cores::require_head_size(shape, step, largest, takes);
  if (!tensor_cores::all_aligned(q, k, v, out))
    throw Error(std::string(step) +
                " loads by TMA, and q, k, v or out does not begin at a multiple of 16 bytes; take "
                "--kernel head_sizes.");
  for (const int64_t size : {shape.B * shape.NH, shape.Tq, shape.Tk})
    if (size > LARGEST_COUNT)
      throw Error(std::string(step) +
                  " counts rows and heads in 32 bits, as TMA does, and there are " +
                  std::to_string(size) + "; take smaller sizes.");
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9)
    throw Error(std::string(step) +
                " needs a GPU of compute capability 9.0, for wgmma and TMA; take ./learn run "
                "06/tensor_cores.");
}

CUtensorMap queries_map(const Attention& shape, const bf16* tensor, int rows) {
  return map_of(tensor, shape.B * shape.NH, shape.Tq, shape.HS, rows);
}

CUtensorMap keys_map(const Attention& shape, const bf16* tensor, int rows, const bf16* instead) {
  if (shape.Tk == 0) return queries_map(shape, instead, rows);
  return map_of(tensor, shape.B * shape.NH_kv, shape.Tk, shape.HS, rows);
}

bool all_rows_for_tma(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      const bf16* out) {
  const auto& [of_q, of_k, of_v, of_out] = shape.strides;
  for (const Strides& of : {of_q, of_k, of_v, of_out})
    for (const int64_t stride : {of.batch, of.head, of.token})
      if (stride == 0 || stride >= int64_t{1} << 39) return false;  // 2^40 bytes
  return tensor_cores::all_rows_aligned(shape, q, k, v, out);
}

StridedMaps::StridedMaps(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                         const bf16* out, int Br, int Bc) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  this->q = map_of(q, B, NH, Tq, HS, strides.q, Br);
  this->out = map_of(out, B, NH, Tq, HS, strides.out, ROWS_OF_STORE);
  if (Tk == 0) {  // nothing is loaded of k and v, and a map has rows
    this->k = this->v = this->q;
    return;
  }
  this->k = map_of(k, B, NH_kv, Tk, HS, strides.k, Bc);
  this->v = map_of(v, B, NH_kv, Tk, HS, strides.v, Bc);
}

int64_t workspace_bytes(const Attention& /*shape*/) {
  return Workspace::bytes_of<unsigned long long>(1);
}

unsigned long long* counter_from_0(const Attention& shape, const char* step, Workspace workspace,
                                   cudaStream_t stream) {
  require_workspace(workspace, workspace_bytes(shape), step);
  auto* const counter = workspace.take<unsigned long long>(1);
  CUDA_CHECK(cudaMemsetAsync(counter, 0, sizeof(*counter), stream));
  return counter;
}

unsigned blocks_that_stay(int64_t tiles) {
  return static_cast<unsigned>(std::min<int64_t>(tiles, multiprocessors()));
}

}  // namespace tutorial::flash_attention::hopper
