// Each stage alone, and step 2's kernel.
#include <algorithm>
#include <cmath>

#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

/// The same with the mask, as scale_mask() leaves them.
std::vector<float> masked_scores(const Attention& a, float middle, float rise) {
  std::vector<float> scores = raw_scores(a, middle, rise);
  for (int64_t i = 0; i < a.scores(); ++i)
    if (a.causal && i % a.T > i / a.T % a.T) scores[i] = -INF;
  return scores;
}

void check_softmax(const Attention& a, float middle, float rise = 0) {
  const std::vector<float> preatt = masked_scores(a, middle, rise);
  const DeviceBuffer<float> input(preatt, 1);
  check_launch([&](float* att) { softmax(a, input.data(), att); },
               softmax_reference(a, preatt, all_rows(a.heads() * a.T)), score_layout(a, "att"), 2);
}

void check_scale_mask_softmax(const Attention& a, float middle, float rise = 0) {
  const std::vector<float> preatt = raw_scores(a, middle, rise);
  const DeviceBuffer<float> input(preatt, 1);
  check_launch([&](float* att) { scale_mask_softmax(a, input.data(), att); },
               scale_mask_softmax_reference(a, preatt, all_rows(a.heads() * a.T)),
               score_layout(a, "att"), 2);
}

TEST_CASE("permute") {
  Attention a = each_shape();
  const std::vector<float> qkv = arange(3 * a.elements());
  const DeviceBuffer<float> input(qkv, 1);
  check_launch(
      [&](float* q) { permute(a, input.data(), q, q + a.elements(), q + 2 * a.elements()); },
      permute_reference(a, qkv),
      {.name = "qkv", .batch = 3 * a.heads(), .rows = a.T, .cols = a.HS()}, 3);
}

TEST_CASE("unpermute") {
  Attention a = each_shape();
  const std::vector<float> vaccum = arange(a.elements());
  const DeviceBuffer<float> input(vaccum, 1);
  check_launch([&](float* out) { unpermute(a, input.data(), out); }, unpermute_reference(a, vaccum),
               out_layout(a), 3);
}

TEST_CASE("each stage alone does nothing where there is nothing") {
  for (const Attention& a :
       {Attention{.B = 0, .T = 5, .C = 6, .NH = 2}, Attention{.B = 2, .T = 0, .C = 6, .NH = 2},
        Attention{.B = 2, .T = 5, .C = 0, .NH = 2}}) {
    CAPTURE(a.B, a.T, a.C);
    permute(a, nullptr, nullptr, nullptr, nullptr);
    scale_mask(a, nullptr);
    softmax(a, nullptr, nullptr);
    scale_mask_softmax(a, nullptr, nullptr);
    if (a.heads() * a.T == 0)
      masked_softmax(a, {.first_query = 0, .queries = a.T, .keys = a.T}, nullptr);
    unpermute(a, nullptr, nullptr);
    CUDA_CHECK(cudaGetLastError());
  }
}

TEST_CASE("unpermute undoes permute") {
  const Attention a = each_shape();
  const std::vector<float> qkv = values_for(a);
  std::vector<float> q;  // of qkv, as (B, T, C)
  for (size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<int64_t>(i) / a.C % 3 == 0) q.push_back(qkv[i]);
  const DeviceBuffer<float> input(qkv);
  StageWorkspace w(a);
  permute(a, input.data(), w.q.data(), w.k.data(), w.v.data());
  check_launch([&](float* out) { unpermute(a, w.q.data(), out); }, exactly(q), out_layout(a));
}

TEST_CASE("scores") {
  Attention a = each_shape();
  a.tf32 = GENERATE(false, true);
  const CublasHandle blas(a.precision());
  const std::vector<float> q = normal(a.elements(), 1), k = normal(a.elements(), 2);
  const DeviceBuffer<float> device_q(q, 1), device_k(k, 2);
  const Expected want = scores_reference(a, q, k, all_rows(a.heads() * a.T));
  check_launch([&](float* preatt) { scores(a, blas, device_q.data(), device_k.data(), preatt); },
               want, score_layout(a, "preatt"), 3);
}

TEST_CASE("scores of one-hot queries are columns of K") {
  // Query t of every head is the unit vector e_t, so preatt[t][key] is k[key][t].
  const Attention a = {.B = 2, .T = 5, .C = 10, .NH = 2};
  std::vector<float> q(a.elements(), 0.0f);
  const std::vector<float> k = normal(a.elements(), 2);
  std::vector<float> want(a.scores());
  for (int64_t head = 0; head < a.heads(); ++head)
    for (int64_t t = 0; t < a.T; ++t) {
      q[(head * a.T + t) * a.HS() + t] = 1;
      for (int64_t key = 0; key < a.T; ++key)
        want[(head * a.T + t) * a.T + key] = k[(head * a.T + key) * a.HS() + t];
    }
  const CublasHandle blas;
  const DeviceBuffer<float> device_q(q), device_k(k);
  check_launch([&](float* preatt) { scores(a, blas, device_q.data(), device_k.data(), preatt); },
               exactly(want), score_layout(a, "preatt"));
}

TEST_CASE("scale_mask") {
  Attention a = each_shape();
  const std::vector<float> preatt = normal(a.scores(), 1);
  const Expected want = scale_mask_reference(a, preatt, all_rows(a.heads() * a.T));
  check_launch([&](float* scores) { scale_mask(a, scores); }, want, score_layout(a, "preatt"), 1,
               preatt);
}

TEST_CASE("scale_mask with more rows than a grid has blocks in y", "[large]") {
  const Attention a = {.B = 32769, .T = 2, .C = 1, .NH = 1, .block_size = 32};
  const std::vector<float> preatt = normal(a.scores(), 1);
  const Expected want = scale_mask_reference(a, preatt, all_rows(a.heads() * a.T));
  check_launch([&](float* scores) { scale_mask(a, scores); }, want, score_layout(a, "preatt"), 0,
               preatt);
}

TEST_CASE("a masked score is -infinity whatever it was, and no other is touched by the mask") {
  const Attention a = {.B = 1, .T = 3, .C = 1, .NH = 1};
  const std::vector<float> preatt = {1, INF, QUIET_NAN, 2, 3, -INF, 4, 5, 6};
  check_launch([&](float* scores) { scale_mask(a, scores); },
               exactly({1, -INF, -INF, 2, 3, -INF, 4, 5, 6}), score_layout(a, "preatt"), 0, preatt);
}

// Smaller than a GPU's, so that it does not take 2^31 rows. A row's neighbours are far from it.
TEST_CASE("every stage with more rows than a small grid has blocks") {
  const SmallGrid grid(3, 2);
  Attention a = {.B = 2, .T = 11, .C = 10, .NH = 2, .block_size = 64};
  a.causal = GENERATE(true, false);
  check_softmax(a, 200);
  check_scale_mask_softmax(a, 200);
  const std::vector<float> preatt = raw_scores(a, 0);
  check_launch([&](float* scores) { scale_mask(a, scores); },
               scale_mask_reference(a, preatt, all_rows(a.heads() * a.T)),
               score_layout(a, "preatt"), 0, preatt);
}

TEST_CASE("softmax, alone and with scale and mask") {
  const Attention a = each_shape();
  check_softmax(a, 0);
  check_scale_mask_softmax(a, 0);
}

TEST_CASE("softmax, alone and with scale and mask, of scores far from zero") {
  Attention a = {.B = 1, .T = 45, .C = 5, .NH = 1, .block_size = 64};
  a.causal = GENERATE(true, false);
  for (const float middle : {200.0f, -20000.0f}) {
    CAPTURE(middle, a.causal);
    check_softmax(a, middle);
    check_scale_mask_softmax(a, middle);
  }
}

TEST_CASE("softmax, alone and with scale and mask, of scores that rise or fall along the row") {
  // By so much that exp() overflows unless the maximum is that of the whole row.
  Attention a = {.B = 1, .T = 150, .C = 5, .NH = 1, .block_size = 32};
  a.causal = GENERATE(true, false);
  for (const float rise : {10.0f, -10.0f}) {
    CAPTURE(rise, a.causal);
    check_softmax(a, 0, rise);
    check_scale_mask_softmax(a, 0, rise);
  }
}

// T rows a head: the combinations, and some of them again. The unscaled ones are four times as
// large as the scale, 1/√16, makes them.
TEST_CASE(
    "softmax, alone and with scale and mask, of maxima that rise, fall, jump or are -infinity",
    "[values]") {
  const HardRows hard = hard_rows(3, 24);
  const Attention a = {.B = 3, .T = hard.cols, .C = 16, .NH = 1, .causal = false, .block_size = 32};
  const DeviceBuffer<float> input(hard.values);
  REQUIRE(a.heads() * a.T == hard.rows);
  check_launch([&](float* att) { softmax(a, input.data(), att); },
               softmax_reference(a, hard.values, all_rows(hard.rows)), score_layout(a, "att"));
  std::vector<float> raw = hard.values;
  for (float& score : raw) score *= 4;
  const DeviceBuffer<float> unscaled(raw);
  check_launch([&](float* att) { scale_mask_softmax(a, unscaled.data(), att); },
               scale_mask_softmax_reference(a, raw, all_rows(hard.rows)), score_layout(a, "att"));
}

TEST_CASE("every stage with any block size", "[shapes]") {
  Attention a = {.B = 2, .T = 11, .C = 10, .NH = 2};
  a.block_size = GENERATE(32, 64, 96, 256, 512, 1024);
  CAPTURE(a.block_size);
  check_softmax(a, 0);
  check_scale_mask_softmax(a, 0);

  const std::vector<float> qkv = values_for(a), preatt = raw_scores(a, 0);
  const DeviceBuffer<float> input(qkv);
  check_launch(
      [&](float* q) { permute(a, input.data(), q, q + a.elements(), q + 2 * a.elements()); },
      permute_reference(a, qkv),
      {.name = "qkv", .batch = 3 * a.heads(), .rows = a.T, .cols = a.HS()});
  check_launch([&](float* scores) { scale_mask(a, scores); },
               scale_mask_reference(a, preatt, all_rows(a.heads() * a.T)),
               score_layout(a, "preatt"), 0, preatt);
}

TEST_CASE("both softmax kernels follow PyTorch where a row has no answer") {
  const Attention a = {.B = 1, .T = 40, .C = 3, .NH = 1, .causal = false, .block_size = 64};
  std::vector<float> preatt = normal(a.scores(), 1);
  std::fill_n(preatt.begin() + 2 * a.T, a.T, -INF);  // row 2: nothing above -infinity
  preatt[5 * a.T + 33] = INF;
  preatt[7 * a.T] = QUIET_NAN;
  std::fill_n(preatt.begin() + 9 * a.T, a.T - 1, -INF);  // row 9: one key is left
  std::vector<bool> is_nan(a.T, false);
  for (const int row : {2, 5, 7}) is_nan[row] = true;

  const auto rows = all_rows(a.T);
  const Expected want = softmax_reference(a, preatt, rows);
  for (int64_t t = 0; t < a.T; ++t) CHECK(std::isnan(want.value[t * a.T]) == is_nan[t]);
  const DeviceBuffer<float> input(preatt);
  check_launch([&](float* att) { softmax(a, input.data(), att); }, want, score_layout(a, "att"));
  check_launch([&](float* att) { scale_mask_softmax(a, input.data(), att); },
               scale_mask_softmax_reference(a, preatt, rows), score_layout(a, "att"));
}

TEST_CASE("values") {
  Attention a = each_shape();
  a.tf32 = GENERATE(false, true);
  const CublasHandle blas(a.precision());
  const std::vector<float> att = normal(a.scores(), 1), v = normal(a.elements(), 2);
  const DeviceBuffer<float> device_att(att, 1), device_v(v, 2);
  const Expected want = values_reference(a, att, v, all_rows(a.heads() * a.T));
  check_launch([&](float* vaccum) { values(a, blas, device_att.data(), device_v.data(), vaccum); },
               want, head_layout(a, "vaccum"), 3);
}

TEST_CASE("values with the identity for att are v") {
  const Attention a = {.B = 2, .T = 7, .C = 10, .NH = 2};
  std::vector<float> att(a.scores(), 0.0f);
  for (int64_t row = 0; row < a.heads() * a.T; ++row) att[row * a.T + row % a.T] = 1;
  const std::vector<float> v = normal(a.elements(), 2);
  const CublasHandle blas;
  const DeviceBuffer<float> device_att(att), device_v(v);
  check_launch([&](float* vaccum) { values(a, blas, device_att.data(), device_v.data(), vaccum); },
               exactly(v), head_layout(a, "vaccum"));
}

}  // namespace
}  // namespace tutorial::unfused_attention
