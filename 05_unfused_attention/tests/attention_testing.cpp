#include "attention_testing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "strips/strips.hpp"

namespace tutorial::unfused_attention {

Expected exactly(const std::vector<float>& values) {
  return {{values.begin(), values.end()}, std::vector<double>(values.size())};
}

std::vector<float> normal(int64_t count, uint64_t seed) {
  return make_values({count}, Init::normal, seed);
}

std::vector<float> arange(int64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

Layout score_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.T};
}
Layout head_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.HS()};
}
Layout out_layout(const Attention& a) {
  return {.name = "out", .batch = a.B, .rows = a.T, .cols = a.C};
}

Attention each_shape() {
  Attention a = GENERATE(Attention{.B = 2, .T = 45, .C = 10, .NH = 2},   // HS 5
                         Attention{.B = 2, .T = 70, .C = 36, .NH = 3},   // HS 12
                         Attention{.B = 3, .T = 33, .C = 3, .NH = 3},    // HS 1
                         Attention{.B = 1, .T = 150, .C = 20, .NH = 1},  // nothing to permute
                         Attention{.B = 3, .T = 1, .C = 8, .NH = 2},     // one token: out is v
                         Attention{.B = 1, .T = 2, .C = 1, .NH = 1});
  a.block_size = 32;
  a.causal = GENERATE(true, false);
  CAPTURE(a.B, a.T, a.C, a.NH, a.causal);
  return a;
}

std::vector<float> values_for(const Attention& a, uint64_t seed) {
  return normal(3 * a.elements(), seed);
}

std::vector<float> qkv_with_scores_near(const Attention& a, float score) {
  std::vector<float> qkv = values_for(a);
  const float size = std::sqrt(std::abs(score) / static_cast<float>(a.HS()));
  for (size_t i = 0; i < qkv.size(); ++i) {
    const auto part = static_cast<int64_t>(i) / a.C % 3;  // q, k or v
    if (part == 0) qkv[i] = size * (1 + 0.001f * qkv[i]);
    if (part == 1) qkv[i] = std::copysign(size, score) * (1 + 0.001f * qkv[i]);
  }
  return qkv;
}

std::vector<float> raw_scores(const Attention& a, float middle, float rise) {
  std::vector<float> scores = normal(a.scores(), 1);
  for (int64_t i = 0; i < a.scores(); ++i)
    scores[i] += (i / a.T % 2 == 0 ? middle : -middle) + rise * static_cast<float>(i % a.T);
  return scores;
}

std::vector<Step<Launcher>> all_pipelines() {
  std::vector<Step<Launcher>> all = steps;
  all.insert(all.end(), strips::steps.begin(), strips::steps.end());
  return all;
}

int64_t strip_height_of(const Step<Launcher>& step, const Attention& a) {
  const bool cuts = std::ranges::any_of(
      strips::steps, [&](const auto& other) { return other.launch == step.launch; });
  return cuts ? strips::cut_of(a, step).height : 0;
}

void check_pipeline(const Step<Launcher>& step, const Attention& a, const std::vector<float>& qkv,
                    int64_t offset_in, int64_t offset_out) {
  INFO(step.name << ": B " << a.B << ", T " << a.T << ", C " << a.C << ", NH " << a.NH
                 << (a.causal ? ", causal" : ", full") << (a.tf32 ? ", TF32" : "")
                 << ", block size " << a.block_size << ", --strip " << a.strip_height);
  const DeviceBuffer<float> input(qkv, offset_in);
  Workspace workspace(a);
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
