#include "backward/backward_program.hpp"

#include <algorithm>

#include "attention_program.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::backward {

Gradients gradients_of(const Attention& shape) {
  return {query_rows(shape), key_rows(shape), shape.HS};
}

void announce(Table& table, const Attention& shape, int64_t workspace_bytes, Precision precision) {
  const bool is_bf16 = precision == Precision::bf16;
  const double size = is_bf16 ? 2 : 4;
  const Gradients gradients = gradients_of(shape);
  const double flop = 10 * visible_pairs(shape) * shape.HS * shape.B * shape.NH;
  const double elements = (4.0 * gradients.queries + 4.0 * gradients.keys) * shape.HS;
  table.problem("dq, dk, dv of softmax(q·kᵀ/√" + std::to_string(shape.HS) + ")·v, q[" +
                    shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) + "], " + keys_text(shape) +
                    (is_bf16 ? ", bf16" : ", fp32"),
                {.flop = flop,
                 .bytes = size * elements + 4.0 * gradients.queries,
                 .arithmetic = is_bf16 ? Arithmetic::bf16 : Arithmetic::fp32},
                {gradients.rows(), shape.HS},
                4.0 * gradients.queries * (shape.HS + 1) + static_cast<double>(workspace_bytes));
}

void forward_pass(const Attention& shape, const float* q, const float* k, const float* v,
                  float* out, float* lse, Workspace workspace, cudaStream_t stream) {
  try {
    q_outer_on(shape, q, k, v, out, lse, stream);
  } catch (const DeviceTooSmall&) {
    any_shape::by_shape(shape, q, k, v, out, lse, workspace, stream);
  }
}

Comparison Wanted::compare(std::span<const float> got) const {
  const auto [of_queries, of_keys, HS] = gradients_of(shape);
  const Layout dq = {.name = "dq", .batch = shape.B * shape.NH, .rows = shape.Tq, .cols = HS};
  Layout dk = {.name = "dk", .batch = shape.B * shape.NH_kv, .rows = shape.Tk, .cols = HS};
  Comparison worst = compare_rows(got.first(of_queries * HS), of_rows.dq, queries, dq);
  for (const Expected* expected : {&of_rows.dk, &of_rows.dv}) {
    dk.name = expected == &of_rows.dk ? "dk" : "dv";
    const int64_t begin = (of_queries + (expected == &of_rows.dk ? 0 : of_keys)) * HS;
    const Comparison next = compare_rows(got.subspan(begin, of_keys * HS), *expected, keys, dk);
    if (worst.ok && (!next.ok || next.max_error > worst.max_error)) worst = next;
  }
  return worst;
}

Wanted wanted(const Attention& shape, const HostTensors& at, uint64_t seed, Precision precision) {
  const auto rows_of = [&](int64_t rows, double pairs) {
    const double products = std::max(1.0, pairs * static_cast<double>(shape.HS));
    return sample_rows(rows, static_cast<int64_t>(std::max(32.0, affordable(3e7) / products)),
                       seed);
  };
  const std::vector<int64_t> queries = rows_of(query_rows(shape), static_cast<double>(shape.Tk));
  const std::vector<int64_t> keys =
      rows_of(key_rows(shape), shape.NH_kv > 0 ? static_cast<double>(shape.group() * shape.Tq) : 0);
  return {shape, queries, keys, reference(shape, at, queries, keys, precision)};
}

std::string memory_text(const Attention& shape) {
  const auto bytes_of = [](int64_t floats) {
    return with_prefix(4.0 * static_cast<double>(floats), "B");
  };
  return "memory beside the tensors and their gradients: unfused " +
         bytes_of(2 * pair_floats(shape)) + " for p and ds (8·B·NH·Tq·Tk), stored_ds " +
         bytes_of(pair_floats(shape)) + " for ds; all steps " + bytes_of(shape.rows()) +
         " for D (4·B·NH·Tq), five_products " + bytes_of(part_floats(shape, tiles_of_keys(shape))) +
         " for parts of dq, bounded_parts " + bytes_of(part_floats(shape, tiles_at_a_time(shape)));
}

}  // namespace tutorial::flash_attention::backward
