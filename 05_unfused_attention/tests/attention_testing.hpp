// What the tests of chapter 05 and of its part strips share: shapes, inputs, and one way to check a
// pipeline.
#pragma once

#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "05_unfused_attention.hpp"
#include "common/data/hard_rows.hpp"
#include "common/testing/testing.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention {

inline constexpr float INF = std::numeric_limits<float>::infinity();
inline constexpr float QUIET_NAN = std::numeric_limits<float>::quiet_NaN();

/// These values, and nothing near them.
inline Expected exactly(const std::vector<float>& values) {
  return {{values.begin(), values.end()}, std::vector<double>(values.size())};
}

inline std::vector<float> normal(int64_t count, uint64_t seed) {
  return make_values({count}, Init::normal, seed);
}

inline std::vector<float> arange(int64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

/// preatt, att and their like, as a failure report shows them.
inline Layout score_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.T};
}
inline Layout head_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.HS()};
}
inline Layout out_layout(const Attention& a) {
  return {.name = "out", .batch = a.B, .rows = a.T, .cols = a.C};
}

/// Runs the rest of the test for shapes with B and NH from 2 on, T and HS no powers of two, HS no
/// square; and small ones. Each causal and full. Blocks are small, so that rows have more keys than
/// a block has threads.
inline Attention each_shape() {
  Attention a = GENERATE(Attention{.B = 2, .T = 45, .C = 10, .NH = 2},   // HS 5
                         Attention{.B = 2, .T = 70, .C = 36, .NH = 3},   // HS 12
                         Attention{.B = 3, .T = 33, .C = 3, .NH = 3},    // HS 1
                         Attention{.B = 1, .T = 150, .C = 20, .NH = 1},  // nothing to permute
                         Attention{.B = 3, .T = 1, .C = 8, .NH = 2},     // one token: out is v
                         Attention{.B = 1, .T = 2, .C = 1, .NH = 1},
                         Attention{.B = 1, .T = 1, .C = 1, .NH = 1});  // one number
  a.block_size = 32;
  a.causal = GENERATE(true, false);
  CAPTURE(a.B, a.T, a.C, a.NH, a.causal);
  return a;
}

/// A qkv, normal.
inline std::vector<float> values_for(const Attention& a, uint64_t seed = 1) {
  return normal(3 * a.elements(), seed);
}

/// qkv for which all scores lie near `score`, before the scaling.
inline std::vector<float> qkv_with_scores_near(const Attention& a, float score) {
  std::vector<float> qkv = values_for(a);
  const float size = std::sqrt(std::abs(score) / static_cast<float>(a.HS()));
  for (size_t i = 0; i < qkv.size(); ++i) {
    const auto part = static_cast<int64_t>(i) / a.C % 3;  // q, k or v
    if (part == 0) qkv[i] = size * (1 + 0.001f * qkv[i]);
    if (part == 1) qkv[i] = std::copysign(size, score) * (1 + 0.001f * qkv[i]);
  }
  return qkv;
}

/// Scores as scores() leaves them, around `middle` in one row and -middle in the next: what a row
/// takes from its neighbour shows. From one key to the next they rise by `rise`.
inline std::vector<float> raw_scores(const Attention& a, float middle, float rise = 0) {
  std::vector<float> scores = normal(a.scores(), 1);
  for (int64_t i = 0; i < a.scores(); ++i)
    scores[i] += (i / a.T % 2 == 0 ? middle : -middle) + rise * static_cast<float>(i % a.T);
  return scores;
}

/// Scores that rise, fall, jump or are -infinity, in every combination of two segments of `width`
/// keys; a head a batch. The queries begin anew where there are more of them than combinations.
struct HardProblem {
  Attention attention;
  std::vector<float> qkv;
};
inline HardProblem hard_problem(int64_t width) {
  const int64_t HS = 16;
  const HardScores hard = hard_scores(2, width, HS);
  HardProblem problem = {{.B = hard.heads, .T = hard.keys, .C = HS, .NH = 1, .block_size = 32}, {}};
  problem.qkv = values_for(problem.attention);
  for (int64_t token = 0; token < hard.heads * hard.keys; ++token) {
    const int64_t head = token / hard.keys, query = token % hard.keys % hard.queries;
    const auto to = problem.qkv.begin() + token * 3 * HS;
    std::copy_n(hard.q.begin() + (head * hard.queries + query) * HS, HS, to);
    std::copy_n(hard.k.begin() + token * HS, HS, to + HS);
  }
  return problem;
}

/// As attention_reference() takes it: 0 for the chapter's own steps.
inline int64_t strip_height_of(const Step<Launcher>& step, const Attention& a) {
  const bool cuts = std::ranges::any_of(
      strips::steps, [&](const auto& other) { return other.launch == step.launch; });
  return cuts ? strips::cut_of(a, step).height : 0;
}

/// Runs a pipeline twice: what the first run left in the workspace must not show in the second.
inline void check_pipeline(const Step<Launcher>& step, const Attention& a,
                           const std::vector<float>& qkv, int64_t offset_in = 0,
                           int64_t offset_out = 0) {
  if (!is_in_sample(step.name)) return;
  INFO(step.name << ": B " << a.B << ", T " << a.T << ", C " << a.C << ", NH " << a.NH
                 << (a.causal ? ", causal" : ", full") << (a.tf32 ? ", TF32" : "")
                 << ", block size " << a.block_size << ", --strip " << a.strip_height);
  const DeviceBuffer<float> input(qkv, offset_in);
  StageWorkspace workspace(a);
  const Expected want = attention_reference(a, qkv, all_rows(a.B * a.T), strip_height_of(step, a));
  for (int run = 0; run < 2; ++run)
    check_launch([&](float* out) { step.launch(a, input.data(), workspace, out); }, want,
                 out_layout(a), offset_out);
  CHECK(input.guards_intact());
  for (const auto* buffer : {&workspace.q, &workspace.k, &workspace.v, &workspace.preatt,
                             &workspace.att, &workspace.vaccum})
    CHECK(buffer->guards_intact());
  CHECK(workspace.pointers.guards_intact());
  if (workspace.for_strips) CHECK(workspace.for_strips->pointers.guards_intact());
}

}  // namespace tutorial::unfused_attention
