#include "tensor_cores/bf16_program.hpp"

#include <algorithm>

#include "common/data/narrow.hpp"

namespace tutorial::flash_attention::tensor_cores {

Usage with_bf16_attention(Usage own, int64_t queries_on_cpu) {
  own = with_attention(own);
  own.sizes = {{"--batch", {.gpu = 4, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 16, .cpu = 2}, "query heads"},
               {"--kv-heads", "--heads", "key and value heads"},
               {"--seq", {.gpu = 4096, .cpu = queries_on_cpu}, "queries"},
               {"--seq-kv", "--seq", "keys"},
               {"--head-dim", {.gpu = 128, .cpu = 64}, "head size, a multiple of 8"}};
  own.texts = {
      {"--layout", "bhtd", "bhtd|bthd|qkv: (B, NH, T, HS); (B, T, NH, HS); fused, a slice each"},
      lengths_option()};
  return own;
}

Attention bf16_attention_of(const Options& options) {
  return in_layout(attention_of(options), options.text("--layout"));
}

unsigned needs_of(const Options& options) {
  return (options.text("--layout") == "bhtd" ? 0 : STRIDES) |
         (options.text("--lengths").empty() ? 0 : LENGTHS);
}

void announce_bf16(Table& table, const Attention& shape, const GivenLengths& lengths,
                   const std::string& layout) {
  const double rows = static_cast<double>(shape.rows()), HS = static_cast<double>(shape.HS);
  const double kv_rows = static_cast<double>(shape.B * shape.NH_kv * shape.Tk);
  const double elements = 2 * (rows + kv_rows) * HS;
  const Work work = work_of(lengths.on_host(shape));
  table.problem(problem_text(shape, "bf16"),
                {.flop = work.flop,
                 .bytes = 2 * (rows + work.q_rows + 2 * work.kv_rows) * HS + 4 * rows,
                 .arithmetic = Arithmetic::bf16},
                layout == "bhtd" ? std::vector{shape.B, shape.NH, shape.Tq, shape.HS}
                                 : std::vector{shape.B, shape.Tq, shape.NH, shape.HS},
                elements * (layout == "bhtd" ? 1 : 3) + 4 * rows);
  table.say("q, k and v are rounded to bf16 (to nearest even); checked against these numbers");
  if (lengths.any()) table.say(lengths.text(shape));
  if (layout == "bthd") table.say("q, k, v and out are (B, T, NH, HS), and are not copied first");
  if (layout == "qkv")
    table.say(
        "q, k and v are slices of one tensor (B, T, NH + 2·NH_kv, HS); out is (B, T, NH, HS)");
}

RoundedInputs::RoundedInputs(const Attention& shape, const Options& options,
                             const GivenLengths& lengths, const std::string& layout) {
  const std::vector<float> host_q = rounded_to<bf16>(options.input("q").host()),
                           host_k = rounded_to<bf16>(options.input("k").host()),
                           host_v = rounded_to<bf16>(options.input("v").host());
  const std::vector<int64_t> rows = rows_to_check(shape, options.seed());
  want = {shape, rows, reference_bf16(lengths.on_host(shape), host_q, host_k, host_v, rows)};
  const Placed as_q = placed_q(shape), as_k = placed_k(shape), as_v = placed_v(shape);
  if (layout == "qkv") {
    const int64_t first_k = shape.NH * shape.HS, first_v = first_k + shape.NH_kv * shape.HS;
    std::vector<bf16> fused(shape.B * shape.Tq * (shape.NH + 2 * shape.NH_kv) * shape.HS);
    place(host_q, as_q, fused);
    place(host_k, as_k, std::span(fused).subspan(std::min<size_t>(first_k, fused.size())));
    place(host_v, as_v, std::span(fused).subspan(std::min<size_t>(first_v, fused.size())));
    memory_[0] = DeviceBuffer<bf16>(fused);
    q = memory_[0].data(), k = q + first_k, v = q + first_v;
    return;
  }
  const auto placed = [&](int n, const std::vector<float>& dense, const Placed& as) {
    std::vector<bf16> all(as.span());
    place(dense, as, all);
    memory_[n] = DeviceBuffer<bf16>(all);
    return memory_[n].data();
  };
  q = placed(0, host_q, as_q), k = placed(1, host_k, as_k), v = placed(2, host_v, as_v);
}

Comparison RoundedInputs::compare(const Launched& row, const std::vector<float>& lse) const {
  const Attention& shape = want.shape;
  Layout layout = row.layout;
  layout.batch = shape.B * shape.NH, layout.rows = shape.Tq, layout.cols = shape.HS;
  return want.compare(dense_of(row.output, placed_out(shape)), layout, lse);
}

PermutedFirst::PermutedFirst(const Attention& shape)
    : shape_(shape),
      dense_(shape),
      q_(shape.rows() * shape.HS),
      k_(shape.B * shape.NH_kv * shape.Tk * shape.HS),
      v_(k_.size()),
      out_(q_.size()) {
  dense_.strides = {};
}

}  // namespace tutorial::flash_attention::tensor_cores
