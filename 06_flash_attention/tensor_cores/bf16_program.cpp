#include "tensor_cores/bf16_program.hpp"

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
  return own;
}

void announce_bf16(Table& table, const Attention& shape) {
  const double rows = static_cast<double>(shape.rows());
  const double kv_rows = static_cast<double>(shape.B * shape.NH_kv * shape.Tk);
  const double elements = 2 * (rows + kv_rows) * static_cast<double>(shape.HS);
  table.problem(problem_text(shape, "bf16"),
                {.flop = 4 * visible_pairs(shape) * static_cast<double>(shape.B * shape.NH) *
                         static_cast<double>(shape.HS),
                 .bytes = 2 * elements + 4 * rows,
                 .arithmetic = Arithmetic::bf16},
                {shape.B, shape.NH, shape.Tq, shape.HS}, elements + 4 * rows);
  table.say("q, k and v are rounded to bf16 (to nearest even); checked against these numbers");
}

RoundedInputs::RoundedInputs(const Attention& shape, const Options& options) {
  const std::vector<float> host_q = rounded_to<bf16>(options.input("q").host()),
                           host_k = rounded_to<bf16>(options.input("k").host()),
                           host_v = rounded_to<bf16>(options.input("v").host());
  const std::vector<int64_t> rows = rows_to_check(shape, options.seed());
  want = {shape, rows, reference_bf16(shape, host_q, host_k, host_v, rows)};
  q = DeviceBuffer<bf16>(narrowed<bf16>(host_q));
  k = DeviceBuffer<bf16>(narrowed<bf16>(host_k));
  v = DeviceBuffer<bf16>(narrowed<bf16>(host_v));
}

}  // namespace tutorial::flash_attention::tensor_cores
