// The program's part backward: the gradients of attention, and what each step keeps for them.
#include <algorithm>

#include "backward/backward.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/error.hpp"
#include "common/program/chapter.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// The result: the rows of dq, then those of dk, then those of dv.
struct Gradients {
  int64_t queries, keys, HS;  // rows of dq, and of dk and dv; their length
  int64_t rows() const { return queries + 2 * keys; }
  float* dk(float* all) const { return all + queries * HS; }
  float* dv(float* all) const { return dk(all) + keys * HS; }
};

/// How many pairs (query, key) of a head are not masked.
double visible_pairs(const Attention& shape) {
  double pairs = 0;
  for (int64_t i = 0; i < shape.Tq; ++i) pairs += static_cast<double>(shape.visible_keys(i));
  return pairs;
}

/// Prints the problem, whose least work is five products of the visible pairs; q, k, v, out, dout
/// and lse read, dq, dk and dv written.
void announce(Chapter& chapter, const Attention& shape, const Gradients& gradients,
              int64_t scratch) {
  const double flop = 10 * visible_pairs(shape) * shape.HS * shape.B * shape.NH;
  const double elements = (4.0 * gradients.queries + 4.0 * gradients.keys) * shape.HS;
  const std::string heads =
      shape.NH == shape.NH_kv ? "" : ", " + std::to_string(shape.NH_kv) + " key and value heads";
  chapter.problem(
      "dq, dk, dv of softmax(q·kᵀ/√" + std::to_string(shape.HS) + ")·v, q[" +
          shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) + "], " + std::to_string(shape.Tk) +
          " keys" + heads + (shape.causal ? ", causal" : ", full") + ", fp32",
      {.flop = flop, .bytes = 4 * elements + 4.0 * gradients.queries}, {gradients.rows(), shape.HS},
      4.0 * (2 * gradients.queries + gradients.queries * shape.HS + scratch));
}

/// Of dq, dk and dv the one that is wrong; else the one with the largest error.
Comparison compare_all(std::span<const float> got, const Reference& want, const Attention& shape,
                       const Gradients& gradients, std::span<const int64_t> queries,
                       std::span<const int64_t> keys) {
  const auto [of_queries, of_keys, HS] = gradients;
  const Layout dq = {.name = "dq", .batch = shape.B * shape.NH, .rows = shape.Tq, .cols = HS};
  Layout dk = {.name = "dk", .batch = shape.B * shape.NH_kv, .rows = shape.Tk, .cols = HS};
  Comparison worst = compare_rows(got.first(of_queries * HS), want.dq, queries, dq);
  for (const Expected* expected : {&want.dk, &want.dv}) {
    dk.name = expected == &want.dk ? "dk" : "dv";
    const int64_t begin = (of_queries + (expected == &want.dk ? 0 : of_keys)) * HS;
    const Comparison next = compare_rows(got.subspan(begin, of_keys * HS), *expected, keys, dk);
    if (worst.ok && (!next.ok || next.max_error > worst.max_error)) worst = next;
  }
  return worst;
}

/// The forward pass: q_outer, which takes any head size that there is shared memory for, else
/// by_shape, which always has enough, but takes 256 at most.
flash_attention::Launcher* forward_pass(const Attention& nothing) {
  try {
    q_outer(nothing, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    return q_outer;
  } catch (const DeviceTooSmall&) {
    by_shape(nothing, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    return by_shape;
  }
}

std::string bytes_of(int64_t floats) {
  return with_prefix(4.0 * static_cast<double>(floats), "B");
}

}  // namespace

void body(Chapter& chapter) {
  Attention shape;
  auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  chapter.size("--batch", B, {.gpu = 8, .cpu = 1}, "sequences");
  chapter.size("--heads", NH, {.gpu = 12, .cpu = 1}, "query heads");
  chapter.size_like("--kv-heads", NH_kv, "--heads", "key and value heads");
  chapter.size("--seq", Tq, {.gpu = 1024, .cpu = 96}, "queries");
  chapter.size_like("--seq-kv", Tk, "--seq", "keys");
  chapter.size("--head-dim", HS, {.gpu = 64, .cpu = 32}, "head size");
  chapter.flag("--causal,!--full", causal,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys");
  const std::vector<Extent> as_q = {{"--batch"}, {"--heads"}, {"--seq"}, {"--head-dim"}};
  const std::vector<Extent> as_k = {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}};
  Input& q = chapter.input("q", as_q, "queries");
  Input& k = chapter.input("k", as_k, "keys");
  Input& v = chapter.input("v", as_k, "values");
  Input& dout = chapter.input("dout", as_q, "the gradient of out");
  chapter.steps(steps);
  chapter.output_name("dq, dk, dv");
  chapter.parse();
  require_valid(shape);
  chapter.symbols({{"B", B},
                   {"NH", NH},
                   {"NH_kv", NH_kv},
                   {"Tq", Tq},
                   {"Tk", Tk},
                   {"HS", HS},
                   {"s", square_size(HS)},
                   {"b", tile_rows(HS)},
                   {"parts", tiles_at_a_time(shape)}});
  Attention nothing = shape;
  nothing.B = 0;
  chapter.require_a_step(steps, [&](Launcher* launch) { launch(nothing, {}); });
  flash_attention::Launcher* const forward = forward_pass(nothing);

  int64_t scratch_size = flash_attention::scratch_floats(shape);  // of the forward pass
  for (const auto& step : steps)
    if (chapter.selected(step.name))
      scratch_size = std::max(scratch_size, scratch_floats(shape, step.launch));
  const Gradients gradients{query_rows(shape), key_rows(shape), HS};
  announce(chapter, shape, gradients, scratch_size);

  DeviceBuffer<float> out(shape.rows() * HS), lse(shape.rows()), scratch(scratch_size);
  chapter.watch("the forward pass", [&] {
    forward(shape, q.device(), k.device(), v.device(), out.data(), lse.data(), scratch.data());
  });
  const std::vector<float> host_out = out.to_host(), host_lse = lse.to_host();

  // The whole result where the host can afford a reference, else some rows of it.
  const auto rows_of = [&](int64_t rows, double pairs) {
    const double affordable = std::max(32.0, 3e7 / std::max(1.0, pairs * static_cast<double>(HS)));
    return sample_rows(rows, static_cast<int64_t>(affordable), chapter.seed());
  };
  const std::vector<int64_t> queries = rows_of(gradients.queries, static_cast<double>(Tk));
  const std::vector<int64_t> keys =
      rows_of(gradients.keys, NH_kv > 0 ? static_cast<double>(shape.group() * Tq) : 0);
  const Reference want = reference(
      shape, {q.host(), k.host(), v.host(), host_out, dout.host(), host_lse}, queries, keys);
  chapter.check_with([&](std::span<const float> got, const Layout&) {
    return compare_all(got, want, shape, gradients, queries, keys);
  });
  for (const auto& step : steps)
    chapter.run(
        step,
        [&](float* all) {
          step.launch(shape, {.q = q.device(),
                              .k = k.device(),
                              .v = v.device(),
                              .out = out.data(),
                              .dout = dout.device(),
                              .lse = lse.data(),
                              .dq = all,
                              .dk = gradients.dk(all),
                              .dv = gradients.dv(all),
                              .scratch = scratch.data()});
        },
        [&](float*) { scratch.poison(); });
  chapter.note("memory beside the tensors and their gradients: unfused " +
               bytes_of(pair_floats(shape)) + " for p and ds (8·B·NH·Tq·Tk); all steps " +
               bytes_of(shape.rows()) + " for D (4·B·NH·Tq), and five_products " +
               bytes_of(part_floats(shape)) + " for parts of dq");
}

}  // namespace tutorial::flash_attention::backward
