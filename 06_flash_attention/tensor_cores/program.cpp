// The program's part tensor_cores: attention in bf16.
#include <algorithm>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/data/npy.hpp"
#include "common/program/chapter.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

/// Prints the problem, whose least work is both products of the visible pairs; q, k and v read, out
/// and lse written.
void announce(Chapter& chapter, const Attention& shape) {
  double pairs = 0;
  for (int64_t i = 0; i < shape.Tq; ++i) pairs += static_cast<double>(shape.visible_keys(i));
  const double heads = static_cast<double>(shape.B * shape.NH);
  const double rows = static_cast<double>(shape.rows());
  const double elements =
      2 * (rows + static_cast<double>(shape.B * shape.NH_kv * shape.Tk)) * shape.HS;
  const std::string kv_heads =
      shape.NH == shape.NH_kv ? "" : ", " + std::to_string(shape.NH_kv) + " key and value heads";
  chapter.problem("out[" + shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) +
                      "] = softmax(q·kᵀ/√" + std::to_string(shape.HS) + ")·v, " +
                      std::to_string(shape.Tk) + " keys" + kv_heads +
                      (shape.causal ? ", causal" : ", full") + ", bf16",
                  {.flop = 4 * pairs * heads * static_cast<double>(shape.HS),
                   .bytes = 2 * elements + 4 * rows,
                   .arithmetic = Arithmetic::bf16},
                  {shape.B, shape.NH, shape.Tq, shape.HS}, elements + 4 * rows);
}

}  // namespace

void run_steps(Chapter& chapter, const std::vector<Step<Launcher>>& steps, int64_t queries_on_cpu) {
  Attention shape;
  auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  chapter.size("--batch", B, {.gpu = 4, .cpu = 1}, "sequences");
  chapter.size("--heads", NH, {.gpu = 16, .cpu = 2}, "query heads");
  chapter.size_like("--kv-heads", NH_kv, "--heads", "key and value heads");
  chapter.size("--seq", Tq, {.gpu = 4096, .cpu = queries_on_cpu}, "queries");
  chapter.size_like("--seq-kv", Tk, "--seq", "keys");
  chapter.size("--head-dim", HS, {.gpu = 128, .cpu = 64}, "head size, a multiple of 8");
  chapter.flag("--causal,!--full", causal,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys");
  const std::vector<Extent> as_k = {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}};
  Input& input_q =
      chapter.input("q", {{"--batch"}, {"--heads"}, {"--seq"}, {"--head-dim"}}, "queries");
  Input& input_k = chapter.input("k", as_k, "keys");
  Input& input_v = chapter.input("v", as_k, "values");
  chapter.steps(steps);
  chapter.output_name("out");
  chapter.parse();
  require_valid(shape);
  chapter.symbols({{"B", B}, {"NH", NH}, {"NH_kv", NH_kv}, {"Tq", Tq}, {"Tk", Tk}, {"HS", HS}});
  Attention nothing = shape;
  nothing.B = 0;
  chapter.require_a_step(steps, [&](Launcher* launch) {
    launch(nothing, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  announce(chapter, shape);
  chapter.say("q, k and v are rounded to bf16 (to nearest even); checked against these numbers");

  const std::vector<float> host_q = rounded_to<bf16>(input_q.host()),
                           host_k = rounded_to<bf16>(input_k.host()),
                           host_v = rounded_to<bf16>(input_v.host());
  // The whole result where the host can afford a reference, else some rows of it.
  const double products = std::max(1.0, 1.0 * static_cast<double>(Tk * HS));
  const std::vector<int64_t> some = sample_rows(
      shape.rows(), static_cast<int64_t>(std::max(64.0, 2e8 / products)), chapter.seed());
  const Reference want = reference_bf16(shape, host_q, host_k, host_v, some);
  DeviceBuffer<float> lse(shape.rows());
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    const Comparison out = compare_rows(got, want.out, some, layout);
    const Comparison sums =
        compare_rows(lse.to_host(), want.lse, some, {.name = "lse", .batch = B * NH, .rows = Tq});
    return out.ok && !sums.ok ? sums : out;
  });

  const DeviceBuffer<bf16> q(narrowed<bf16>(host_q)), k(narrowed<bf16>(host_k)),
      v(narrowed<bf16>(host_v));
  for (const auto& step : steps)
    if (chapter.selected(step.name))
      chapter.run(Row{
          .name = step.name,
          .tile = step.tile,
          .needs = step.needs,
          .launch_bf16 =
              [&](bf16* out) { step.launch(shape, q.data(), k.data(), v.data(), out, lse.data()); },
          .before = [&](float*) { lse.poison(); }});
}

void body(Chapter& chapter) {
  run_steps(chapter, steps, 160);
}

}  // namespace tutorial::flash_attention::tensor_cores
