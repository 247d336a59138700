#include "attention_program.hpp"

#include <algorithm>

#include "common/data/npy.hpp"

namespace tutorial::flash_attention {

Usage with_attention(Usage own) {
  own.sizes = {{"--batch", {.gpu = 8, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 12, .cpu = 4}, "query heads"},
               {"--kv-heads", "--heads", "key and value heads"},
               {"--seq", {.gpu = 1024, .cpu = 160}, "queries"},
               {"--seq-kv", "--seq", "keys"},
               {"--head-dim", {.gpu = 64, .cpu = 32}, "head size"}};
  own.flags = {
      {"--causal,!--full", true, "query i sees keys up to i + (seq-kv − seq); --full: all keys"}};
  own.inputs = {{"q", {"--batch", "--heads", "--seq", "--head-dim"}, "queries"},
                {"k", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "keys"},
                {"v", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "values"}};
  own.output = "out";
  return own;
}

Attention attention_of(const Options& options) {
  const Attention shape = {.B = options.size("--batch"),
                           .NH = options.size("--heads"),
                           .NH_kv = options.size("--kv-heads"),
                           .Tq = options.size("--seq"),
                           .Tk = options.size("--seq-kv"),
                           .HS = options.size("--head-dim"),
                           .causal = options.flag("--causal")};
  require_valid(shape);
  return shape;
}

Attention without_elements(Attention shape) {
  shape.B = 0;
  return shape;
}

double visible_pairs(const Attention& shape) {
  const double Tq = shape.Tq, Tk = shape.Tk;
  if (!shape.causal) return Tq * Tk;
  return Tk >= Tq ? Tq * (Tk - Tq) + Tq * (Tq + 1) / 2 : Tk * (Tk + 1) / 2;
}

std::string keys_text(const Attention& shape) {
  const std::string heads =
      shape.NH == shape.NH_kv ? "" : ", " + std::to_string(shape.NH_kv) + " key and value heads";
  return std::to_string(shape.Tk) + " keys" + heads + (shape.causal ? ", causal" : ", full");
}

std::string problem_text(const Attention& shape, const std::string& type) {
  return "out[" + shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) + "] = softmax(q·kᵀ/√" +
         std::to_string(shape.HS) + ")·v, " + keys_text(shape) + ", " + type;
}

void announce(Table& table, const Attention& shape, double more_bytes) {
  const double rows = static_cast<double>(shape.B) * shape.NH * shape.Tq;
  const double kv_rows = static_cast<double>(shape.B) * shape.NH_kv * shape.Tk;
  table.problem(problem_text(shape, "fp32"),
                {.flop = 4 * visible_pairs(shape) * shape.HS * shape.B * shape.NH,
                 .bytes = 8 * (rows + kv_rows) * shape.HS + 4 * rows},
                {shape.B, shape.NH, shape.Tq, shape.HS}, 8 * rows + more_bytes);
}

std::vector<int64_t> rows_to_check(const Attention& shape, uint64_t seed) {
  const double products = std::max(1.0, 1.0 * shape.Tk * shape.HS);
  return sample_rows(shape.rows(), static_cast<int64_t>(std::max(64.0, affordable(2e8) / products)),
                     seed);
}

Comparison Wanted::compare_out(std::span<const float> out, const Layout& layout) const {
  return compare_rows(out, of_rows.out, rows, layout);
}

Comparison Wanted::compare(const Launched& row, const std::vector<float>& lse) const {
  return compare(row.output, row.layout, lse);
}

Comparison Wanted::compare(std::span<const float> of_out, const Layout& layout,
                           const std::vector<float>& lse) const {
  const Comparison out = compare_out(of_out, layout);
  const Comparison sums = compare_rows(
      lse, of_rows.lse, rows, {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  return out.ok && !sums.ok ? sums : out;
}

Wanted wanted(const Attention& shape, const Options& options) {
  const std::vector<int64_t> rows = rows_to_check(shape, options.seed());
  return {shape, rows,
          reference(shape, options.input("q").host(), options.input("k").host(),
                    options.input("v").host(), rows)};
}

}  // namespace tutorial::flash_attention
