#include "tensor_cores/in_layout.hpp"

#include "common/kernel/error.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

/// Calls of(row of the dense tensor, where the row begins) for all rows.
template <class Of>
void for_each_row(const Placed& as, const Of& of) {
  int64_t row = 0;
  for (int64_t b = 0; b < as.B; ++b)
    for (int64_t h = 0; h < as.heads; ++h)
      for (int64_t t = 0; t < as.T; ++t) of(row++, as.strides.at(b, h, t));
}

}  // namespace

int64_t Placed::span() const {
  return B * heads * T * HS == 0 ? 0 : strides.at(B - 1, heads - 1, T - 1) + HS;
}

Placed placed_q(const Attention& s) {
  return {s.B, s.NH, s.Tq, s.HS, with_strides(s).strides.q};
}
Placed placed_k(const Attention& s) {
  return {s.B, s.NH_kv, s.Tk, s.HS, with_strides(s).strides.k};
}
Placed placed_v(const Attention& s) {
  return {s.B, s.NH_kv, s.Tk, s.HS, with_strides(s).strides.v};
}
Placed placed_out(const Attention& s) {
  return {s.B, s.NH, s.Tq, s.HS, with_strides(s).strides.out};
}

Attention in_layout(Attention shape, const std::string& layout) {
  if (layout == "bhtd") return shape;
  const auto tokens_first = [&](int64_t T, int64_t heads_of_token) {
    const int64_t token = heads_of_token * shape.HS;
    return Strides{.batch = T * token, .head = shape.HS, .token = token};
  };
  const Strides of_q = tokens_first(shape.Tq, shape.NH),
                of_kv = tokens_first(shape.Tk, shape.NH_kv);
  shape.strides = {of_q, of_kv, of_kv, of_q};
  if (layout == "bthd") return shape;
  if (layout != "qkv") throw Error("--layout " + layout + ": take bhtd, bthd or qkv.");
  if (shape.Tq != shape.Tk)
    throw Error("--layout qkv has a query, a key and a value for each token, and there are " +
                std::to_string(shape.Tq) + " queries and " + std::to_string(shape.Tk) +
                " keys; make --seq-kv equal to --seq.");
  const Strides fused = tokens_first(shape.Tq, shape.NH + 2 * shape.NH_kv);
  shape.strides = {fused, fused, fused, of_q};
  return shape;
}

void place(std::span<const float> dense, const Placed& as, std::span<bf16> to) {
  for_each_row(as, [&](int64_t row, int64_t at) {
    for (int64_t d = 0; d < as.HS; ++d) to[at + d] = bf16(dense[row * as.HS + d]);
  });
}

std::vector<float> dense_of(std::span<const float> from, const Placed& as) {
  std::vector<float> dense(as.B * as.heads * as.T * as.HS);
  for_each_row(as, [&](int64_t row, int64_t at) {
    for (int64_t d = 0; d < as.HS; ++d) dense[row * as.HS + d] = from[at + d];
  });
  return dense;
}

}  // namespace tutorial::flash_attention::tensor_cores
