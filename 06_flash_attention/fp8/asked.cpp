// What the steps ask global memory for: tiles, by each thread that multiplies three scales, and V
// once more where it is transposed before.
#include <algorithm>

#include "fp8/fp8.hpp"
#include "fp8/launch.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

/// In tiles of Br queries and Bc keys: each tile of queries reads all keys that it sees.
template <int Br, int Bc>
std::vector<Asked> by_tiles(const Attention& s) {
  Asked asked = {
      .loads = s.B * s.NH *
               (s.HS * (s.Tq + 2 * s.Tk * ceil_div(s.Tq, Br)) + 24 * Br * ceil_div(s.Tq, Br)),
      .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)};
  asked.loads -= 2 * s.B * s.NH * s.HS * hidden_keys(s, Br, Bc);
  return {asked};
}

}  // namespace

std::vector<Asked> transposed_before_asks(const Attention& s, const e4m3*, const e4m3*, const e4m3*,
                                          Scales, bf16*, float*, Workspace, cudaStream_t) {
  Asked asked = {.loads = s.B * s.NH *
                          (s.HS * (s.Tq + (s.Tk + 32 * ceil_div(s.Tk, 32)) * ceil_div(s.Tq, 128)) +
                           24 * 128 * ceil_div(s.Tq, 128)),
                 .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)};
  for (int64_t i0 = 0; i0 < s.Tq; i0 += 128) {
    const int64_t seen = s.visible_keys(std::min(i0 + 128, s.Tq) - 1);
    const int64_t keys = ceil_div(seen, 128) * 128;
    const int64_t hidden =
        std::max<int64_t>(s.Tk - keys, 0) + std::max<int64_t>(padded_keys(s) - keys, 0);
    asked.loads -= s.B * s.NH * s.HS * hidden;
  }
  return {asked,
          {.kernel = "transpose_values",
           .loads = s.B * s.NH_kv * s.HS * s.Tk,
           .stores = s.B * s.NH_kv * s.HS * 32 * ceil_div(s.Tk, 32)}};
}

std::vector<Asked> transposed_as_loaded_asks(const Attention& s, const e4m3*, const e4m3*,
                                             const e4m3*, Scales, bf16*, float*, Workspace,
                                             cudaStream_t) {
  return by_tiles<128, 128>(s);
}

std::vector<Asked> third_consumer_asks(const Attention& s, const e4m3*, const e4m3*, const e4m3*,
                                       Scales, bf16*, float*, Workspace, cudaStream_t) {
  return tile_sizes(third_consumer, s).queries == 192 ? by_tiles<192, 128>(s)
                                                      : by_tiles<128, 128>(s);
}

std::vector<Asked> wide_tiles_asks(const Attention& s, const e4m3* q, const e4m3* k, const e4m3* v,
                                   Scales scales, bf16* out, float* lse, Workspace workspace,
                                   cudaStream_t stream) {
  if (s.HS <= 64) return third_consumer_asks(s, q, k, v, scales, out, lse, workspace, stream);
  return by_tiles<128, 192>(s);
}

}  // namespace tutorial::flash_attention::fp8
