// What the steps ask global memory for.
#include "common/kernel/device.hpp"
#include "few_queries/parts.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

/// Bytes of K and V that no row of a tile sees, in all tiles.
int64_t hidden_bytes(const Attention& s) {
  int64_t keys = 0;
  const int64_t tiles = split_of(s, 1).tiles, heads = s.B * s.NH_kv;  // every head has the same
  for (int64_t tile = 0; tile < tiles / heads; ++tile)
    keys += s.Tk - RowTile(s, rows_of_tile(s), tile).seen;
  return 4 * heads * s.HS * keys;
}

/// Of a kernel `own` whose Parts are merged by another one.
std::vector<Asked> with_merge(const Attention& s, Asked own, int64_t Parts) {
  own.loads -= hidden_bytes(s);
  if (Parts == 1) {
    own.stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2);
    return {own};
  }
  // A thread of the merge has two columns, and reads each m twice and l.
  return {own,
          {.kernel = "merge_parts_kernel",
           .loads = 10 * s.B * s.NH * s.Tq * s.HS * Parts,
           .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)}};
}

}  // namespace

std::vector<Asked> packed_rows_asks(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                    bf16* out, float*, Workspace, cudaStream_t) {
  if (!tensor_cores::all_aligned(q, k, v, out)) return tensor_cores::by_sized_tiles(s);
  if (s.rows() == 0) return {};
  const int64_t Rows = rows_of_tile(s);
  Asked own = {.loads = 2 * s.B * s.NH * s.Tq * s.HS +
                        4 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
               .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)};
  own.loads -= hidden_bytes(s);
  return {own};
}

std::vector<Asked> split_keys_asks(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                   bf16* out, float*, Workspace, cudaStream_t) {
  if (!tensor_cores::all_aligned(q, k, v, out)) return tensor_cores::by_sized_tiles(s);
  if (s.rows() == 0) return {};
  const int64_t Rows = rows_of_tile(s),
                Parts = split_of(s, BLOCKS_OF_WARPS * multiprocessors()).parts;
  return with_merge(
      s,
      {.kernel = "split_keys_kernel",
       .loads = 2 * s.B * s.NH * s.Tq * s.HS * Parts +
                4 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
       .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 2) * Parts},
      Parts);
}

std::vector<Asked> warps_share_asks(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                    bf16* out, float*, Workspace, cudaStream_t) {
  if (!tensor_cores::all_aligned(q, k, v, out)) return tensor_cores::by_sized_tiles(s);
  if (s.rows() == 0) return {};
  const int64_t Rows = rows_of_tile(s),
                Parts = split_of(s, blocks_of_four_warps(s) * multiprocessors()).parts;
  return with_merge(
      s,
      {.kernel = "warps_share_kernel",
       .loads = 2 * s.B * s.NH * s.Tq * s.HS * Parts +
                4 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
       .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 2) * Parts},
      Parts);
}

std::vector<Asked> clusters_asks(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                 bf16* out, float*, Workspace, cudaStream_t) {
  if (!tensor_cores::all_aligned(q, k, v, out)) return tensor_cores::by_sized_tiles(s);
  if (s.rows() == 0) return {};
  const int64_t Rows = rows_of_tile(s);
  const int64_t Parts = split_of(s, multiprocessors(), MOST_OF_CLUSTER).parts;
  Asked own = {.loads = 2 * s.B * s.NH * s.Tq * s.HS * Parts +
                        4 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
               .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)};
  own.loads -= hidden_bytes(s);
  return {own};
}

std::vector<Asked> by_shape_asks(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                 bf16* out, float* lse, Workspace workspace, cudaStream_t stream) {
  switch (
      way_of(s, tensor_cores::all_aligned(q, k, v, out), compute_capability(), multiprocessors())) {
    case Way::clusters:
      return clusters_asks(s, q, k, v, out, lse, workspace, stream);
    case Way::warps_share:
      return warps_share_asks(s, q, k, v, out, lse, workspace, stream);
    case Way::hopper:
      return hopper::head_sizes_ask(s, q, k, v, out, lse, workspace, stream);
    default:
      return tensor_cores::by_sized_tiles(s);
  }
}

}  // namespace tutorial::flash_attention::few_queries
