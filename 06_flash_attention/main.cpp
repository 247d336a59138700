// The program of chapter 06: attention in one kernel, beside chapter 05's in several.
#include <algorithm>
#include <cstdio>

#include "05_unfused_attention.hpp"
#include "06_flash_attention.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::flash {
namespace {

// ---- step 1

std::string count_line(const char* name, int b, const joint::Counts& counted,
                       const joint::Counts& formula) {
  char line[160];
  const auto number = [](int64_t count) { return static_cast<long long>(count); };
  std::snprintf(line, sizeof line, "  %-21s %3d  %15lld %15lld  %15lld %15lld", name, b,
                number(counted.flop), number(formula.flop), number(counted.accesses),
                number(formula.accesses));
  return line;
}

/// Prints what the kernels of step 1 count, beside the article's formulas.
void say_counts(Chapter& chapter, const float* a, const float* b, const float* c, float* y,
                float* y_tilde, int64_t m, int64_t n, int64_t k) {
  chapter.say("step 1: y = (A·B)·C, A " + shape_text({m, k}) + ", B " + shape_text({k, n}) +
              ", C " + shape_text({n, k}) +
              ", as the kernels count and as the article's formulas say");
  chapter.say(
      "                          b     FLOP counted         formula         accesses"
      "         formula");
  const int largest = joint::tile_for(k);
  bool pays = false;
  for (int tile : {largest, largest / 2}) {
    if (tile < joint::TILES[0]) continue;
    const joint::Counts two = joint::count_two_products(a, b, c, y, y_tilde, m, n, k, tile);
    const joint::Counts one = joint::count_joint_tiling(a, b, c, y, m, n, k, tile);
    chapter.say(
        count_line("one after the other", tile, two, joint::article_two_products(m, n, k, tile)));
    chapter.say(count_line("joint", tile, one, joint::article_joint_tiling(m, n, k, tile)));
    if (tile == largest) pays = one.accesses < two.accesses;
  }
  const std::string three_n = std::to_string(3 * n);
  chapter.say("  by the article joint tiling with b = k pays if k < 3·n: " + std::to_string(k) +
              (k < 3 * n ? " < " + three_n + ", it does" : " >= " + three_n + ", it does not") +
              "; by the counts with b = " + std::to_string(largest) +
              (pays ? " it does" : " it does not"));
}

/// y = (q·kᵀ)·v of the first head: attention without a softmax. Prints counts, and adds two rows.
/// At most 4096 queries and keys, because two_products needs m×n floats for ỹ.
void run_joint_tiling(Chapter& chapter, const Attention& shape, Input& input_q, Input& input_k,
                      Input& input_v, bool is_alone) {
  const int64_t m = std::min<int64_t>(shape.Tq, 4096), n = std::min<int64_t>(shape.Tk, 4096);
  const int64_t k = shape.HS;
  const auto first = [&](Input& input, int64_t rows) {
    const float* values = input.host().data();
    return std::vector<float>(values, values + rows * k);
  };
  const std::vector<float> A = first(input_q, m), keys = first(input_k, n), C = first(input_v, n);
  std::vector<float> B(k * n);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t d = 0; d < k; ++d) B[d * n + j] = keys[j * k + d];
  const DeviceBuffer<float> a(A), b(B), c(C);
  DeviceBuffer<float> y(m * k), y_tilde(m * n);

  chapter.symbols({{"m", m}, {"n", n}, {"k", k}, {"b", joint::tile_for(k)}});
  if (m * n * k > 0)
    say_counts(chapter, a.data(), b.data(), c.data(), y.data(), y_tilde.data(), m, n, k);
  const double products = static_cast<double>(m) * n * k;
  const std::vector<int64_t> rows =
      sample_rows(m, static_cast<int64_t>(1e8 / std::max(1.0, 1.0 * n * k)) + 1, chapter.seed());
  const Expected want = joint::reference(A, B, C, n, k, rows);
  Row row = {.name = joint::steps[0].name,
             .launch =
                 [&](float* out) {
                   joint::joint_tiling(a.data(), b.data(), c.data(), out, nullptr, m, n, k);
                 },
             .shape = {m, k},
             .check = [&](std::span<const float> got,
                          const Layout& layout) { return compare_rows(got, want, rows, layout); },
             .cost = {.flop = 4 * products, .bytes = 8.0 * (m + n) * k},
             .is_stage = !is_alone};
  chapter.run(row);
  row.name = "two_products";
  row.launch = [&](float* out) {
    joint::two_products(a.data(), b.data(), c.data(), out, y_tilde.data(), m, n, k);
  };
  row.is_stage = true;
  chapter.run(row);
}

// ---- beside the steps: chapter 05

/// S and P of chapter 05.
double unfused_bytes(const Attention& shape) {
  return 8.0 * shape.B * shape.NH * shape.Tq * shape.Tk;
}

/// Why chapter 05 cannot do this problem; "" if it can.
std::string why_no_unfused(const Attention& shape) {
  if (shape.Tq != shape.Tk) return "it needs as many keys as queries";
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (2 * unfused_bytes(shape) > static_cast<double>(free))  // leave room for all else
    return "its S and P need " + with_prefix(unfused_bytes(shape), "B") + ", of " +
           with_prefix(static_cast<double>(free), "B") + " that are free";
  return "";
}

/// k or v with one copy for each query head, since chapter 05 knows no groups.
DeviceBuffer<float> for_each_head(const Attention& shape, const std::vector<float>& values) {
  const int64_t head = shape.Tk * shape.HS;
  std::vector<float> all(shape.B * shape.NH * head);
  for (int64_t h = 0; h < shape.B * shape.NH; ++h)
    std::copy_n(values.begin() + h / shape.group() * head, head, all.begin() + h * head);
  return DeviceBuffer<float>(all);
}

/// The pipeline without its permutations: q, k, v and out have the heads in front already.
void run_unfused(Chapter& chapter, const Attention& shape, Input& input_q, Input& input_k,
                 Input& input_v) {
  const unfused_attention::Attention same = {.B = shape.B,
                                   .T = shape.Tq,
                                   .C = shape.NH * shape.HS,
                                   .NH = shape.NH,
                                   .causal = shape.causal};
  unfused_attention::require_supported(same);
  const CublasHandle blas;
  const float* q = input_q.device();
  const DeviceBuffer<float> k = for_each_head(shape, input_k.host());
  const DeviceBuffer<float> v = for_each_head(shape, input_v.host());
  DeviceBuffer<float> S(same.scores()), P(same.scores());
  chapter.vendor("chapter 05", [&](float* out) {
    unfused_attention::scores(same, blas, q, k.data(), S.data());
    unfused_attention::scale_mask_softmax(same, S.data(), P.data());
    unfused_attention::values(same, blas, P.data(), v.data(), out);
  });
  chapter.vendor("05, not fused", [&](float* out) {
    unfused_attention::scores(same, blas, q, k.data(), S.data());
    unfused_attention::scale_mask(same, S.data());
    unfused_attention::softmax(same, S.data(), P.data());
    unfused_attention::values(same, blas, P.data(), v.data(), out);
  });
}

// ---- the program

/// How many pairs (query, key) of a head are not masked.
double visible_pairs(const Attention& shape) {
  const double Tq = shape.Tq, Tk = shape.Tk;
  if (!shape.causal) return Tq * Tk;
  return Tk >= Tq ? Tq * (Tk - Tq) + Tq * (Tq + 1) / 2 : Tk * (Tk + 1) / 2;
}

void body(Chapter& chapter) {
  Attention shape;
  chapter.size("--batch", shape.B, {.gpu = 8, .cpu = 1}, "sequences");
  chapter.size("--heads", shape.NH, {.gpu = 12, .cpu = 4}, "query heads");
  chapter.size_like("--kv-heads", shape.NH_kv, "--heads", "key and value heads");
  chapter.size("--seq", shape.Tq, {.gpu = 1024, .cpu = 160}, "queries");
  chapter.size_like("--seq-kv", shape.Tk, "--seq", "keys");
  chapter.size("--head-dim", shape.HS, {.gpu = 64, .cpu = 32}, "head size");
  chapter.flag("--causal,!--full", shape.causal,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys");
  Input& input_q =
      chapter.input("q", {{"--batch"}, {"--heads"}, {"--seq"}, {"--head-dim"}}, "queries");
  Input& input_k =
      chapter.input("k", {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}}, "keys");
  Input& input_v =
      chapter.input("v", {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}}, "values");
  chapter.steps(joint::steps);
  chapter.steps(steps);
  chapter.output_name("out");
  chapter.parse();
  chapter.symbols({{"B", shape.B},
                   {"NH", shape.NH},
                   {"NH_kv", shape.NH_kv},
                   {"Tq", shape.Tq},
                   {"Tk", shape.Tk},
                   {"HS", shape.HS},
                   {"Br", shape.HS > 64 ? 64 : 128}});
  require_valid(shape);

  const bool runs_joint = chapter.selected("joint_tiling");
  const bool runs_attention =
      std::ranges::any_of(steps, [&](const auto& step) { return chapter.selected(step.name); });
  const std::string no_unfused = why_no_unfused(shape);
  const bool runs_unfused = runs_attention && no_unfused.empty() && shape.rows() * shape.HS > 0;

  const double rows = static_cast<double>(shape.B) * shape.NH * shape.Tq;
  const double kv_rows = static_cast<double>(shape.B) * shape.NH_kv * shape.Tk;
  const double flop = 4 * visible_pairs(shape) * shape.HS * shape.B * shape.NH;
  const std::string heads =
      shape.NH == shape.NH_kv ? "" : ", " + std::to_string(shape.NH_kv) + " key and value heads";
  chapter.problem("out[" + shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) +
                      "] = softmax(q·kᵀ/√" + std::to_string(shape.HS) + ")·v, " +
                      std::to_string(shape.Tk) + " keys" + heads +
                      (shape.causal ? ", causal" : ", full") + ", fp32",
                  {.flop = flop, .bytes = 8 * (rows + kv_rows) * shape.HS + 4 * rows},
                  {shape.B, shape.NH, shape.Tq, shape.HS},
                  8 * rows + (runs_unfused ? unfused_bytes(shape) : 0));
  if (runs_joint && shape.B * shape.NH > 0)
    run_joint_tiling(chapter, shape, input_q, input_k, input_v, !runs_attention);
  if (!runs_attention) return;

  // The whole result where the host can afford a reference, else some rows of it.
  const double products = std::max(1.0, 1.0 * shape.Tk * shape.HS);
  const std::vector<int64_t> some = sample_rows(
      shape.rows(), static_cast<int64_t>(std::max(64.0, 2e8 / products)), chapter.seed());
  const Reference want = reference(shape, input_q.host(), input_k.host(), input_v.host(), some);
  DeviceBuffer<float> lse(shape.rows()), scratch(shape.rows());
  const Check check_out = [&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, want.out, some, layout);
  };
  const Check check_both = [&](std::span<const float> got, const Layout& layout) {
    const Comparison out = check_out(got, layout);
    const Comparison sums =
        compare_rows(lse.to_host(), want.lse, some,
                     {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
    return out.ok && !sums.ok ? sums : out;
  };
  chapter.check_with(check_out);

  for (const auto& step : steps)
    if (chapter.selected(step.name))
      chapter.run(Row{.name = step.name,
                      .tile = step.tile,
                      .needs = step.needs,
                      .launch =
                          [&](float* out) {
                            step.launch(shape, input_q.device(), input_k.device(), input_v.device(),
                                        out, lse.data(), scratch.data());
                          },
                      .before =
                          [&](float*) {
                            lse.poison();
                            scratch.poison();
                          },
                      .check = check_both});
  if (runs_unfused) run_unfused(chapter, shape, input_q, input_k, input_v);
  if (!no_unfused.empty()) chapter.note("chapter 05 is left out: " + no_unfused);
  chapter.note("memory beside q, k, v and out: chapter 05 " +
               with_prefix(unfused_bytes(shape), "B") +
               " for S and P (8·B·NH·Tq·Tk); steps 2 to 6 " + with_prefix(4 * rows, "B") +
               " for lse (4·B·NH·Tq), and step 2 as much for l");
}

}  // namespace
}  // namespace tutorial::flash

int main(int argc, char** argv) {
  return tutorial::run_chapter(
      argc, argv, "06_flash_attention",
      {{"", "attention in one kernel, without the T×T scores in memory", tutorial::flash::body}});
}
