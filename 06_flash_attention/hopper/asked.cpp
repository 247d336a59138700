// What the steps from 10 on ask global memory for: they choose their tiles.
#include <algorithm>

#include "hopper/hopper.hpp"
#include "hopper/launch.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::hopper {

std::vector<Asked> three_consumers_ask(const Attention& s, const bf16*, const bf16*, const bf16*,
                                       bf16*, float*, Workspace, cudaStream_t) {
  return queries_of_block(s) == 192 ? by_bf16_tiles<192, 128>(s) : by_bf16_tiles<128, 128>(s);
}

std::vector<Asked> head_sizes_ask(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                                  bf16* out, float* lse, Workspace workspace, cudaStream_t stream) {
  if (!tensor_cores::all_aligned(q, k, v, out)) return tensor_cores::by_sized_tiles(s);
  if (s.HS <= 64) return three_consumers_ask(s, q, k, v, out, lse, workspace, stream);
  return s.HS <= 128   ? by_bf16_tiles<128, 128>(s)
         : s.HS <= 192 ? by_bf16_tiles<128, 112>(s)
                       : by_bf16_tiles<128, 80>(s);
}

/// That a step without strides would ask for as much is what it is there for.
std::vector<Asked> layouts_ask(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                               bf16* out, float* lse, Workspace workspace, cudaStream_t stream) {
  if (!all_rows_for_tma(tensor_cores::with_strides(s), q, k, v, out))
    return tensor_cores::by_sized_tiles(s);
  return head_sizes_ask(s, q, k, v, out, lse, workspace, stream);
}

/// For each sequence what it would ask for alone, but that the last tiles are whole, as far as the
/// tensors go; and out is all of Tq.
std::vector<Asked> lengths_ask(const Attention& s, const bf16* q, const bf16* k, const bf16* v,
                               bf16* out, float* lse, Workspace workspace, cudaStream_t stream) {
  if (!all_rows_for_tma(tensor_cores::with_strides(s), q, k, v, out))
    return tensor_cores::by_lengths(s);
  const int64_t Br = queries_of_block(s), Bc = s.HS > 192 ? 80 : s.HS > 128 ? 112 : 128;
  Attention one = s;
  one.B = 1;
  const auto asked_of = [&](const Attention& of) {
    return layouts_ask(of, q, k, v, out, lse, workspace, stream)[0];
  };
  Asked asked = {.loads = 0, .stores = s.B * asked_of(one).stores};
  for (int64_t b = 0; b < s.B; ++b) {
    const Attention own = one.sequence(b);
    const auto bytes = [&](int64_t rows) { return 2 * s.NH * s.HS * rows; };
    asked.loads += bytes(std::min(ceil_div(own.Tq, Br) * Br, s.Tq));
    for (int64_t i0 = 0; i0 < own.Tq; i0 += Br) {
      const int64_t seen = own.visible_keys(std::min(i0 + Br, own.Tq) - 1);
      asked.loads += 2 * bytes(std::min(ceil_div(seen, Bc) * Bc, s.Tk));
    }
  }
  return {asked};
}

}  // namespace tutorial::flash_attention::hopper
