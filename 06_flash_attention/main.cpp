// The program of chapter 06: attention in one kernel, beside chapter 05's in several.
#include <algorithm>
#include <cstring>

#include "06_flash_attention.hpp"
#include "backward/backward.hpp"
#include "chapter_05_rows.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/check.hpp"
#include "hopper/hopper.hpp"
#include "joint/joint.hpp"
#include "paths.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention {
namespace {

/// How many pairs (query, key) of a head are not masked.
double visible_pairs(const Attention& shape) {
  const double Tq = shape.Tq, Tk = shape.Tk;
  if (!shape.causal) return Tq * Tk;
  return Tk >= Tq ? Tq * (Tk - Tq) + Tq * (Tq + 1) / 2 : Tk * (Tk + 1) / 2;
}

/// Prints the problem, whose least work is the visible scores, q, k and v read, out and lse
/// written.
void announce(Chapter& chapter, const Attention& shape, double scratch_bytes) {
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
                  {shape.B, shape.NH, shape.Tq, shape.HS}, 8 * rows + scratch_bytes);
}

/// Few queries to many keys, as in decoding: what counts is how fast k and v are read.
bool reads_more_than_it_computes(const Attention& shape) {
  return shape.Tq * shape.group() <= 64 && shape.Tk > 16 * shape.Tq;
}

/// A copy of k, which moves as many bytes as reading k and v.
void run_copy(Chapter& chapter, const Attention& shape, Input& input_k) {
  const std::vector<float>& k = input_k.host();
  const float* from = input_k.device();
  const double bytes = static_cast<double>(k.size() * sizeof(float));
  chapter.run({.name = "plain copy of k",
               .launch =
                   [&, from](float* to) {
                     CUDA_CHECK(cudaMemcpyAsync(to, from, k.size() * sizeof(float),
                                                cudaMemcpyDeviceToDevice));
                   },
               .shape = {shape.B, shape.NH_kv, shape.Tk, shape.HS},
               .check =
                   [&](std::span<const float> got, const Layout&) {
                     Comparison result;
                     result.ok = std::memcmp(got.data(), k.data(), got.size_bytes()) == 0;
                     if (!result.ok) result.report = "  the copy differs from k";
                     return result;
                   },
               .cost = {.flop = 0, .bytes = 2 * bytes},
               .is_stage = true});
}

void body(Chapter& chapter) {
  Attention shape;
  auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  chapter.size("--batch", B, {.gpu = 8, .cpu = 1}, "sequences");
  chapter.size("--heads", NH, {.gpu = 12, .cpu = 4}, "query heads");
  chapter.size_like("--kv-heads", NH_kv, "--heads", "key and value heads");
  chapter.size("--seq", Tq, {.gpu = 1024, .cpu = 160}, "queries");
  chapter.size_like("--seq-kv", Tk, "--seq", "keys");
  chapter.size("--head-dim", HS, {.gpu = 64, .cpu = 32}, "head size");
  chapter.flag("--causal,!--full", causal,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys");
  Input& input_q =
      chapter.input("q", {{"--batch"}, {"--heads"}, {"--seq"}, {"--head-dim"}}, "queries");
  Input& input_k =
      chapter.input("k", {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}}, "keys");
  Input& input_v =
      chapter.input("v", {{"--batch"}, {"--kv-heads"}, {"--seq-kv"}, {"--head-dim"}}, "values");
  chapter.steps(steps);
  chapter.output_name("out");
  chapter.parse();
  require_valid(shape);
  const Split split = split_here(shape);
  chapter.symbols({{"B", B},
                   {"NH", NH},
                   {"NH_kv", NH_kv},
                   {"Tq", Tq},
                   {"Tk", Tk},
                   {"HS", HS},
                   {"Br", HS > 64   ? 32
                          : HS > 32 ? 64
                                    : 128},  // of steps 7 to 10
                   {"HeadRows", tiles_of_heads(shape).rows},
                   {"Rows", split.rows},
                   {"Parts", split.parts}});
  Attention nothing = shape;
  nothing.B = 0;
  chapter.require_a_step(steps, [&](Launcher* launch) {
    launch(nothing, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  const std::string no_chapter_05 = chapter.compares() ? why_no_chapter_05(shape) : "";
  const bool runs_chapter_05 = chapter.compares() && no_chapter_05.empty() && shape.rows() * HS > 0;
  announce(chapter, shape, runs_chapter_05 ? chapter_05_bytes(shape) : 0);

  // The whole result where the host can afford a reference, else some rows of it.
  const double products = std::max(1.0, 1.0 * Tk * HS);
  const std::vector<int64_t> some = sample_rows(
      shape.rows(), static_cast<int64_t>(std::max(64.0, 2e8 / products)), chapter.seed());
  const Reference want = reference(shape, input_q.host(), input_k.host(), input_v.host(), some);
  const Check check_out = [&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, want.out, some, layout);
  };
  DeviceBuffer<float> lse(shape.rows()), scratch(scratch_floats(shape));
  const Check check_both = [&](std::span<const float> got, const Layout& layout) {
    const Comparison out = check_out(got, layout);
    const Comparison sums =
        compare_rows(lse.to_host(), want.lse, some, {.name = "lse", .batch = B * NH, .rows = Tq});
    return out.ok && !sums.ok ? sums : out;
  };

  const float* q = input_q.device();
  const float* k = input_k.device();
  const float* v = input_v.device();
  chapter.check_with(check_both);
  for (const auto& step : steps)
    chapter.run(
        step, [&](float* out) { step.launch(shape, q, k, v, out, lse.data(), scratch.data()); },
        [&](float*) {
          lse.poison();
          scratch.poison();
        });
  chapter.check_with(check_out);
  if (chapter.compares() && reads_more_than_it_computes(shape)) run_copy(chapter, shape, input_k);
  if (runs_chapter_05)
    run_chapter_05(chapter, shape, input_q, input_k, input_v, check_out);
  else if (!no_chapter_05.empty())
    chapter.note("chapter 05 is left out: " + no_chapter_05);
  const double sums = 4 * static_cast<double>(shape.rows());
  chapter.note("memory beside q, k, v and out: chapter 05 " +
               with_prefix(chapter_05_bytes(shape), "B") +
               " for S and P (8·B·NH·Tq·Tk); the steps " + with_prefix(sums, "B") +
               " for lse (4·B·NH·Tq), and step 1 as much for l");
}

}  // namespace
}  // namespace tutorial::flash_attention

int main(int argc, char** argv) {
  using namespace tutorial;
  return run_chapter(
      argc, argv, "06_flash_attention",
      {{"", "attention in one kernel, without the T×T scores in memory", flash_attention::body},
       {"joint", "two products as one, attention without the softmax",
        flash_attention::joint::body},
       {"backward", "the gradients of q, k and v, with the scores computed again",
        flash_attention::backward::body},
       {"tensor_cores", "attention in bf16, both products on tensor cores",
        flash_attention::tensor_cores::body},
       {"hopper", "the same on wgmma and TMA, for compute capability 9.0a",
        flash_attention::hopper::body}});
}
