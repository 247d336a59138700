#include "qkv_problem.hpp"

#include <algorithm>
#include <string>

#include "common/backend/backend.hpp"

namespace tutorial::unfused_attention {
namespace {

/// The tensors' sizes, printed before anything is allocated.
void say_memory(Table& table, const Attention& a) {
  const double token = 4.0 * static_cast<double>(a.B) * static_cast<double>(a.T);
  const double activations = token * static_cast<double>(a.C);
  const double scores = token * static_cast<double>(a.NH) * static_cast<double>(a.T);
  table.say("memory: qkv " + with_prefix(3 * activations, "B") +
            " (4·B·T·3·C); q, k, v, vaccum and out " + with_prefix(activations, "B") +
            " each (4·B·T·C); preatt and att " + with_prefix(scores, "B") + " each (4·B·NH·T·T)");
}

}  // namespace

Usage with_qkv(Usage own) {
  const std::vector<SizeOption> sizes = {
      {"--batch", {.gpu = 8, .cpu = 2}, "sequences, B"},
      {"--seq", {.gpu = 1024, .cpu = 50}, "tokens of a sequence, T"},
      {"--channels", {.gpu = 768, .cpu = 36}, "values of a token, C"},
      {"--heads", {.gpu = 12, .cpu = 3}, "heads, NH; must divide C"},
      {"--block-size",
       {.gpu = 256, .cpu = 256},
       "threads of a block in our own kernels: a multiple of 32, up to 1024"}};
  own.sizes.insert(own.sizes.begin(), sizes.begin(), sizes.end());
  own.flags.push_back({"--causal,!--full", true, "mask the keys after each query (default)"});
  own.flags.push_back({"--tf32", false, "let cuBLAS round the products' inputs to TF32"});
  own.inputs.push_back(
      {"qkv", {"--batch", "--seq", {"--channels", 3}}, "queries, keys and values side by side"});
  own.output = "out";
  return own;
}

Attention attention_of(const Options& options) {
  const Attention attention = {.B = options.size("--batch"),
                               .T = options.size("--seq"),
                               .C = options.size("--channels"),
                               .NH = options.size("--heads"),
                               .causal = options.flag("--causal"),
                               .tf32 = options.flag("--tf32"),
                               .block_size = options.size("--block-size")};
  require_supported(attention);
  return attention;
}

void require_a_step(Table& table, const std::vector<Step<Launcher>>& steps, const Attention& a) {
  Attention nothing = a;
  nothing.B = 0;
  StageWorkspace none(nothing);
  table.require_a_step(steps, [&](Launcher* launch) { launch(nothing, nullptr, none, nullptr); });
}

void announce(Table& table, const Attention& a, double more_bytes) {
  // The least work: the scores that are not masked, once as Q·Kᵀ and once as att·V; qkv read once,
  // out written once. What preatt and att cost is this pipeline's own doing.
  const double tokens = static_cast<double>(a.B) * static_cast<double>(a.T);
  const double C = static_cast<double>(a.C), T = static_cast<double>(a.T);
  const double pairs = tokens * (a.causal ? (T + 1) / 2 : T);
  const double stage_output = 4 * tokens * static_cast<double>(a.NH) * T;
  table.problem("out (" + std::to_string(a.B) + ", " + std::to_string(a.T) + ", " +
                    std::to_string(a.C) + ") = " + (a.causal ? "causal" : "full") +
                    " attention of qkv, " + std::to_string(a.NH) + " heads of " +
                    std::to_string(a.HS()) + ", " + (a.tf32 ? "products in TF32" : "fp32") +
                    ", blocks of " + std::to_string(a.block_size) + " threads",
                {.flop = 4 * pairs * C, .bytes = 16 * tokens * C}, {a.B, a.T, a.C},
                workspace_bytes(a) + stage_output + more_bytes);
  say_memory(table, a);
  if (a.tf32 && device_has_clock())
    table.note(
        "\"of bound\" counts fp32 arithmetic; a product in TF32 runs on tensor cores and may pass "
        "100 %.");
}

std::vector<int64_t> rows_to_check(const Attention& a, uint64_t seed) {
  // A row is T·(2·C + 20·NH) steps of the reference, an exp() counted as 20: 10^8 take a second.
  const auto steps = static_cast<int64_t>(affordable(1e8));
  return sample_rows(a.B * a.T, 1 + steps / std::max<int64_t>(1, a.T * (2 * a.C + 20 * a.NH)),
                     seed);
}

}  // namespace tutorial::unfused_attention
