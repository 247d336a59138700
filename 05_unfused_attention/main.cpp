// The program of chapter 05: the stages of attention one by one, then the pipelines made of them.
#include <algorithm>
#include <cmath>
#include <map>

#include "05_unfused_attention.hpp"
#include "common/program/chapter.hpp"
#include "common/kernel/check.hpp"

namespace unfused {
namespace {

using namespace tutorial;

/// What "exactly this" means to compare().
Expected exactly(const std::vector<float>& values) {
  return {{values.begin(), values.end()}, std::vector<double>(values.size())};
}

/// The tensors' sizes, printed before anything is allocated.
void say_memory(Chapter& chapter, const Attention& a) {
  const double token = 4.0 * static_cast<double>(a.B) * static_cast<double>(a.T);
  const double activations = token * static_cast<double>(a.C);
  const double scores = token * static_cast<double>(a.NH) * static_cast<double>(a.T);
  chapter.say("memory: qkv " + with_prefix(3 * activations, "B") +
              " (4·B·T·3·C); q, k, v, vaccum " + "and out " + with_prefix(activations, "B") +
              " each (4·B·T·C); preatt and att " + with_prefix(scores, "B") + " each (4·B·NH·T·T)");
  if (a.elements() == 0) return;
  const auto part = [&](unsigned cutting) {
    const Cut cut = cut_of(a, cutting);
    const double share = static_cast<double>(cut.lanes * cut.group * cut.strip) /
                         static_cast<double>(a.heads() * a.T);
    return with_prefix(share * scores, "B");
  };
  chapter.say("of preatt alone, head_groups uses " + part(HEAD_GROUPS) + ", causal_strips " +
              part(STRIPS) + ", overlapped_strips " + part(LOW_STRIPS) +
              "; row_in_registers all of it");
}

/// What the headers of steps 8 to 12 say of their kernels needs these: how often each is launched,
/// and how many scores and masked ones are written.
void say_symbols(Chapter& chapter, const Attention& a, unsigned cutting) {
  const Cut cut = cut_of(a, cutting);
  const std::vector<Piece> all = pieces(a, cut);
  int64_t written = 0;
  for (const Piece& piece : all) written += piece.scores();
  chapter.symbols({{"written", written},
                   {"launches", static_cast<int64_t>(all.size())},
                   {"strips", all.empty() ? 0 : all.back().strip + 1}});
}

/// One row of the table for each stage. Each is run on what the stages before it left in `w`, and
/// compared with its own reference on that, so that a fault shows in the stage that has it.
class Stages {
 public:
  Stages(Chapter& chapter, const Attention& attention, Workspace& workspace)
      : chapter_(chapter), a_(attention), w_(workspace) {}

  void run_unfused(Input& input_qkv) {
    const float* qkv = input_qkv.device();
    const double n = static_cast<double>(a_.elements()), s = static_cast<double>(a_.scores());
    const int64_t heads = a_.heads(), part = a_.elements();
    const double flop = 2 * s * static_cast<double>(a_.HS());
    const std::string cublas = a_.tf32 ? " (cuBLAS, TF32)" : " (cuBLAS, fp32)";
    const std::vector<int64_t> all_scores = {heads, a_.T, a_.T};

    run({.name = "permute",
         .launch = [&](float* out) { permute(a_, qkv, out, out + part, out + 2 * part); },
         .shape = {3 * heads, a_.T, a_.HS()},
         .check =
             [&](std::span<const float> got, const Layout& layout) {
               return compare(got, exactly(permute_reference(a_, input_qkv.host())), layout);
             },
         .cost = {.flop = 0, .bytes = 24 * n}});
    permute(a_, qkv, w_.q.data(), w_.k.data(), w_.v.data());

    run({.name = "scores" + cublas,
         .launch = [&](float* out) { scores(a_, w_.blas, w_.q.data(), w_.k.data(), out); },
         .shape = all_scores,
         .check = by_rows([&](const auto& rows) {
           return scores_reference(a_, w_.q.to_host(), w_.k.to_host(), rows);
         }),
         .cost = {.flop = flop, .bytes = 8 * n + 4 * s}});
    scores(a_, w_.blas, w_.q.data(), w_.k.data(), w_.preatt.data());

    run({.name = "scale_mask",
         .launch = [&](float* out) { scale_mask(a_, out); },
         .before = [&](float* out) { copy_scores(out); },
         .shape = all_scores,
         .check = by_rows(
             [&](const auto& rows) { return scale_mask_reference(a_, w_.preatt.to_host(), rows); }),
         .cost = {.flop = seen(), .bytes = 4 * seen() + 4 * s}});
    scale_mask(a_, w_.preatt.data());

    run({.name = "softmax",
         .launch = [&](float* out) { softmax(a_, w_.preatt.data(), out); },
         .shape = all_scores,
         .check = by_rows(
             [&](const auto& rows) { return softmax_reference(a_, w_.preatt.to_host(), rows); }),
         .cost = {.flop = 5 * s, .bytes = 8 * s}});
    softmax(a_, w_.preatt.data(), w_.att.data());

    run({.name = "values" + cublas,
         .launch = [&](float* out) { values(a_, w_.blas, w_.att.data(), w_.v.data(), out); },
         .shape = {heads, a_.T, a_.HS()},
         .check = by_rows([&](const auto& rows) {
           return values_reference(a_, w_.att.to_host(), w_.v.to_host(), rows);
         }),
         .cost = {.flop = flop, .bytes = 4 * s + 8 * n}});
    values(a_, w_.blas, w_.att.data(), w_.v.data(), w_.vaccum.data());

    run({.name = "unpermute",
         .launch = [&](float* out) { unpermute(a_, w_.vaccum.data(), out); },
         .check =
             [&](std::span<const float> got, const Layout& layout) {
               return compare(got, exactly(unpermute_reference(a_, w_.vaccum.to_host())), layout);
             },
         .cost = {.flop = 0, .bytes = 8 * n}});
  }

  void run_fused(const float* qkv) {
    const double s = static_cast<double>(a_.scores());
    permute(a_, qkv, w_.q.data(), w_.k.data(), w_.v.data());
    scores(a_, w_.blas, w_.q.data(), w_.k.data(), w_.preatt.data());
    run({.name = "scale_mask_softmax",
         .launch = [&](float* out) { scale_mask_softmax(a_, w_.preatt.data(), out); },
         .shape = {a_.heads(), a_.T, a_.T},
         .check = by_rows([&](const auto& rows) {
           return scale_mask_softmax_reference(a_, w_.preatt.to_host(), rows);
         }),
         .cost = {.flop = 10 * seen(), .bytes = 4 * seen() + 4 * s}});
  }

  void run_in_registers(const float* qkv) {
    const double s = static_cast<double>(a_.scores());
    const Cut cut = cut_of(a_, WHOLE);
    const Piece whole = pieces(a_, cut)[0];
    float* const preatt = w_.preatt.data();
    const Addresses at = locate(a_, cut, qkv, w_, preatt, preatt, w_.vaccum.data());
    piece_scores(a_, w_.blas, at, whole, 1.0f / std::sqrt(static_cast<float>(a_.HS())));
    run({.name = "masked_softmax",
         .launch = [&](float* out) { masked_softmax(a_, whole, out); },
         .before = [&](float* out) { copy_scores(out); },
         .shape = {a_.heads(), a_.T, a_.T},
         .check = by_rows([&](const auto& rows) {
           return masked_softmax_reference(a_, whole, w_.preatt.to_host(), rows);
         }),
         .cost = {.flop = 5 * seen(), .bytes = 4 * seen() + 4 * s}});
  }

 private:
  void run(Row row) {
    row.is_stage = true;
    chapter_.run(std::move(row));
  }

  /// The scores that are not masked.
  double seen() const {
    const double T = static_cast<double>(a_.T);
    return static_cast<double>(a_.heads()) * (a_.causal ? T * (T + 1) / 2 : T * T);
  }

  void copy_scores(float* out) const {
    CUDA_CHECK(cudaMemcpyAsync(out, w_.preatt.data(), a_.scores() * sizeof(float),
                               cudaMemcpyDeviceToDevice));
  }

  /// Compares with a reference that takes the rows to compute: as many as the host can afford.
  Check by_rows(std::function<Expected(const std::vector<int64_t>&)> reference) const {
    return [this, reference](std::span<const float> got, const Layout& layout) {
      const int64_t all = a_.heads() * a_.T;
      const int64_t affordable = 1 + 100'000'000 / (a_.T * (a_.HS() + 20));
      const auto rows = sample_rows(all, std::min(all, affordable), chapter_.seed());
      return compare_rows(got, reference(rows), rows, layout);
    };
  }

  Chapter& chapter_;
  const Attention& a_;
  Workspace& w_;
};

void body(Chapter& chapter) {
  Attention a;
  int64_t block_size = a.block_size;
  chapter.size("--batch", a.B, {.gpu = 8, .cpu = 2}, "sequences, B");
  chapter.size("--seq", a.T, {.gpu = 1024, .cpu = 50}, "tokens of a sequence, T");
  chapter.size("--channels", a.C, {.gpu = 768, .cpu = 36}, "values of a token, C");
  chapter.size("--heads", a.NH, {.gpu = 12, .cpu = 3}, "heads, NH; must divide C");
  chapter.size("--block-size", block_size, {.gpu = 256, .cpu = 256},
               "threads of a block in our own kernels: a multiple of 32, up to 1024");
  chapter.size("--group", a.group, {.gpu = 0, .cpu = 0},
               "heads of a group in head_groups; 0: as many as half of the L2 cache holds");
  chapter.size("--strip", a.strip, {.gpu = 0, .cpu = 0},
               "queries of a strip in causal_strips and overlapped_strips; 0: by their own rules");
  chapter.flag("--causal,!--full", a.causal, "mask the keys after each query (default)");
  chapter.flag("--tf32", a.tf32, "let cuBLAS round the products' inputs to TF32");
  Input& input_qkv = chapter.input("qkv", {{"--batch"}, {"--seq"}, {"--channels", 3}},
                "queries, keys and values side by side");
  chapter.steps(steps);
  chapter.parse();
  a.block_size = static_cast<int>(std::min<int64_t>(block_size, 1 << 20));
  require_supported(a);

  // The least work: the scores that are not masked, once as Q·Kᵀ and once as att·V; qkv read once,
  // out written once. What preatt and att cost is this pipeline's own doing.
  const double tokens = static_cast<double>(a.B) * static_cast<double>(a.T);
  const int64_t seen = a.B * a.NH * (a.causal ? a.T * (a.T + 1) / 2 : a.T * a.T);
  chapter.symbols({{"B", a.B}, {"T", a.T}, {"C", a.C}, {"NH", a.NH}, {"seen", seen}});
  const double pairs = tokens * (a.causal ? static_cast<double>(a.T + 1) / 2 : a.T);
  chapter.output_name("out");
  chapter.problem(
      "out (" + std::to_string(a.B) + ", " + std::to_string(a.T) + ", " + std::to_string(a.C) +
          ") = " + (a.causal ? "causal" : "full") + " attention of qkv, " + std::to_string(a.NH) +
          " heads of " + std::to_string(a.HS()) + ", " + (a.tf32 ? "products in TF32" : "fp32") +
          ", blocks of " + std::to_string(a.block_size) + " threads",
      {.flop = 4 * pairs * static_cast<double>(a.C),
       .bytes = 16 * tokens * static_cast<double>(a.C)},
      {a.B, a.T, a.C}, workspace_bytes(a) + 4 * tokens * static_cast<double>(a.NH * a.T));
  say_memory(chapter, a);

  const int64_t affordable = 1 + 100'000'000 / std::max<int64_t>(1, a.T * (2 * a.C + 20 * a.NH));
  const auto rows = sample_rows(a.B * a.T, std::min(a.B * a.T, affordable), chapter.seed());

  // Strips differ from the whole where a v is infinite, and nowhere else. (The header says how.)
  const std::vector<float>& values = input_qkv.host();
  const bool finite =
      std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  std::map<unsigned, Expected> references;
  const auto wanted = [&](unsigned cutting) -> const Expected& {
    Expected& want = references[finite ? WHOLE : cutting];
    if (want.value.empty()) want = attention_reference(a, values, rows, cutting);
    return want;
  };

  const float* qkv = input_qkv.device();
  Workspace workspace(a);
  Stages stages(chapter, a, workspace);
  for (const auto& step : steps) {
    if (!chapter.selected(step.name)) continue;
    say_symbols(chapter, a, step.features);
    if (a.elements() > 0 && step.launch == &unfused) stages.run_unfused(input_qkv);
    if (a.elements() > 0 && step.launch == &fused_softmax) stages.run_fused(qkv);
    if (a.elements() > 0 && step.launch == &row_in_registers) stages.run_in_registers(qkv);
    chapter.check_with([&](std::span<const float> got, const Layout& layout) {
      return compare_rows(got, wanted(step.features), rows, layout);
    });
    chapter.run(step, [&](float* out) { step.launch(a, qkv, workspace, out); });
  }
  if (a.tf32 && device_has_clock())
    chapter.note(
        "\"of bound\" counts fp32 arithmetic; a product in TF32 runs on tensor cores and may pass "
        "100 %.");
}

}  // namespace
}  // namespace unfused

int main(int argc, char** argv) {
  return tutorial::run_chapter(argc, argv, "05_unfused_attention", {{"", "attention as separate kernels, with the scores in memory", unfused::body}});
}
