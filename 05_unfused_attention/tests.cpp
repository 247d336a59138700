#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "05_unfused_attention.hpp"
#include "common/kernel/error.hpp"
#include "common/testing/testing.hpp"

using namespace tutorial;
using unfused::Attention;
using unfused::Cut;
using unfused::Piece;
using unfused::Workspace;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float QUIET_NAN = std::numeric_limits<float>::quiet_NaN();

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

/// preatt, att and their like, as a failure report shows them.
Layout score_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.T};
}
Layout head_layout(const Attention& a, const char* name) {
  return {.name = name, .batch = a.heads(), .rows = a.T, .cols = a.HS()};
}
Layout out_layout(const Attention& a) {
  return {.name = "out", .batch = a.B, .rows = a.T, .cols = a.C};
}

/// Shapes with B and NH from 2 on, T and HS no powers of two, HS no square; and small ones. Each
/// causal and full. Blocks are small, so that rows have more keys than a block has threads.
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

std::vector<float> values_for(const Attention& a, uint64_t seed = 1) {
  return normal(3 * a.elements(), seed);
}

/// qkv for which all scores lie near `score`, before the scaling.
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

/// Scores as scores() leaves them, around `middle` in one row and -middle in the next: what a row
/// takes from its neighbour shows. From one key to the next they rise by `rise`.
std::vector<float> raw_scores(const Attention& a, float middle, float rise = 0) {
  std::vector<float> scores = normal(a.scores(), 1);
  for (int64_t i = 0; i < a.scores(); ++i)
    scores[i] += (i / a.T % 2 == 0 ? middle : -middle) + rise * static_cast<float>(i % a.T);
  return scores;
}

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
  check_launch([&](float* att) { unfused::softmax(a, input.data(), att); },
               unfused::softmax_reference(a, preatt, all_rows(a.heads() * a.T)),
               score_layout(a, "att"), 2);
}

void check_scale_mask_softmax(const Attention& a, float middle, float rise = 0) {
  const std::vector<float> preatt = raw_scores(a, middle, rise);
  const DeviceBuffer<float> input(preatt, 1);
  check_launch([&](float* att) { unfused::scale_mask_softmax(a, input.data(), att); },
               unfused::scale_mask_softmax_reference(a, preatt, all_rows(a.heads() * a.T)),
               score_layout(a, "att"), 2);
}

/// Runs a pipeline twice: what the first run left in the workspace must not show in the second.
void check_pipeline(const tutorial::Step<unfused::Launcher>& step, const Attention& a,
                    const std::vector<float>& qkv, int64_t offset_in = 0, int64_t offset_out = 0) {
  INFO(step.name << ": B " << a.B << ", T " << a.T << ", C " << a.C << ", NH " << a.NH
                 << (a.causal ? ", causal" : ", full") << (a.tf32 ? ", TF32" : "")
                 << ", block size " << a.block_size << ", --group " << a.group << ", --strip "
                 << a.strip);
  const DeviceBuffer<float> input(qkv, offset_in);
  Workspace workspace(a);
  const Expected want = unfused::attention_reference(a, qkv, all_rows(a.B * a.T), step.features);
  for (int run = 0; run < 2; ++run)
    check_launch([&](float* out) { step.launch(a, input.data(), workspace, out); }, want,
                 out_layout(a), offset_out);
  CHECK(input.guards_intact());
  for (const auto* buffer : {&workspace.q, &workspace.k, &workspace.v, &workspace.preatt,
                             &workspace.att, &workspace.vaccum})
    CHECK(buffer->guards_intact());
  CHECK(workspace.addresses.guards_intact());
}

/// Runs the rest of the test once for each pipeline.
tutorial::Step<unfused::Launcher> each_pipeline() {
  const auto step = EACH_STEP(unfused::steps);
  return step;
}

}  // namespace

// ---- the reference against closed forms

TEST_CASE("the reference splits qkv and puts it together again") {
  // One token a line: q of two heads, k of two heads, v of two heads; HS = 2.
  const Attention a = {.B = 1, .T = 2, .C = 4, .NH = 2};
  const std::vector<float> qkv = arange(24);
  CHECK(unfused::permute_reference(a, qkv) ==
        std::vector<float>{0, 1, 12, 13, 2,  3,  14, 15,    // q: head 0, tokens 0 and 1; head 1
                           4, 5, 16, 17, 6,  7,  18, 19,    // k
                           8, 9, 20, 21, 10, 11, 22, 23});  // v
  const std::vector<float> vaccum = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(unfused::unpermute_reference(a, vaccum) == std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7});
}

TEST_CASE("the reference gives the mean of the values where all scores are equal") {
  Attention a = {.B = 2, .T = 9, .C = 6, .NH = 3};
  a.causal = GENERATE(true, false);
  std::vector<float> qkv = values_for(a);
  for (size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<int64_t>(i) / a.C % 3 == 0) qkv[i] = 0;  // q
  const Expected want = unfused::attention_reference(a, qkv, all_rows(a.B * a.T));
  for (int64_t b = 0; b < a.B; ++b)
    for (int64_t t = 0; t < a.T; ++t)
      for (int64_t c = 0; c < a.C; ++c) {
        const int64_t keys = a.causal ? t + 1 : a.T;
        double mean = 0;
        for (int64_t key = 0; key < keys; ++key)
          mean += qkv[((b * a.T + key) * 3 + 2) * a.C + c] / static_cast<double>(keys);
        CHECK(std::abs(want.value[(b * a.T + t) * a.C + c] - mean) < 1e-14);
      }
}

TEST_CASE("the reference gives the value of the key that a query points to") {
  // Tokens are orthogonal and long: token t scores 2500/√6 with itself and 0 with the others.
  const Attention a = {.B = 1, .T = 6, .C = 6, .NH = 1, .causal = false};
  std::vector<float> qkv = values_for(a);
  for (int64_t t = 0; t < a.T; ++t)
    for (int64_t c = 0; c < a.C; ++c)
      qkv[(t * 3 + 0) * a.C + c] = qkv[(t * 3 + 1) * a.C + c] = t == c ? 50.0f : 0.0f;
  const Expected want = unfused::attention_reference(a, qkv, all_rows(a.T));
  for (int64_t t = 0; t < a.T; ++t)
    for (int64_t c = 0; c < a.C; ++c)
      CHECK(std::abs(want.value[t * a.C + c] - qkv[(t * 3 + 2) * a.C + c]) < 1e-14);
}

TEST_CASE("the reference divides the scores by the square root of the head size, not a whole one") {
  // HS = 5, one key scores 5 and one 0: weights in the ratio exp(√5) : 1.
  const Attention a = {.B = 1, .T = 2, .C = 5, .NH = 1, .causal = false};
  std::vector<float> qkv(30, 0.0f);
  for (int64_t c = 0; c < 5; ++c) qkv[c] = qkv[5 + c] = 1;  // query 0, key 0
  qkv[10] = 1;                                              // value 0
  const Expected want = unfused::attention_reference(a, qkv, all_rows(2));
  CHECK(std::abs(want.value[0] - 1 / (1 + std::exp(-std::sqrt(5.0)))) < 1e-15);
}

TEST_CASE("the reference computes the rows asked for") {
  const Attention a = {.B = 2, .T = 5, .C = 6, .NH = 2};
  const auto qkv = values_for(a);
  const Expected all = unfused::attention_reference(a, qkv, all_rows(10));
  const Expected one = unfused::attention_reference(a, qkv, std::vector<int64_t>{7});
  for (int64_t c = 0; c < a.C; ++c) CHECK(one.value[c] == all.value[7 * a.C + c]);
}

// ---- each stage alone

TEST_CASE("permute") {
  Attention a = each_shape();
  const std::vector<float> qkv = arange(3 * a.elements());
  const DeviceBuffer<float> input(qkv, 1);
  check_launch(
      [&](float* q) {
        unfused::permute(a, input.data(), q, q + a.elements(), q + 2 * a.elements());
      },
      exactly(unfused::permute_reference(a, qkv)),
      {.name = "qkv", .batch = 3 * a.heads(), .rows = a.T, .cols = a.HS()}, 3);
}

TEST_CASE("unpermute") {
  Attention a = each_shape();
  const std::vector<float> vaccum = arange(a.elements());
  const DeviceBuffer<float> input(vaccum, 1);
  check_launch([&](float* out) { unfused::unpermute(a, input.data(), out); },
               exactly(unfused::unpermute_reference(a, vaccum)), out_layout(a), 3);
}

TEST_CASE("unpermute undoes permute") {
  const Attention a = each_shape();
  const std::vector<float> qkv = values_for(a);
  std::vector<float> q;  // of qkv, as (B, T, C)
  for (size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<int64_t>(i) / a.C % 3 == 0) q.push_back(qkv[i]);
  const DeviceBuffer<float> input(qkv);
  Workspace w(a);
  unfused::permute(a, input.data(), w.q.data(), w.k.data(), w.v.data());
  check_launch([&](float* out) { unfused::unpermute(a, w.q.data(), out); }, exactly(q),
               out_layout(a));
}

TEST_CASE("scores") {
  Attention a = each_shape();
  a.tf32 = GENERATE(false, true);
  const CublasHandle blas(a.tf32 ? Precision::tf32 : Precision::fp32);
  const std::vector<float> q = normal(a.elements(), 1), k = normal(a.elements(), 2);
  const DeviceBuffer<float> device_q(q, 1), device_k(k, 2);
  const Expected want = unfused::scores_reference(a, q, k, all_rows(a.heads() * a.T));
  check_launch(
      [&](float* preatt) { unfused::scores(a, blas, device_q.data(), device_k.data(), preatt); },
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
  check_launch(
      [&](float* preatt) { unfused::scores(a, blas, device_q.data(), device_k.data(), preatt); },
      exactly(want), score_layout(a, "preatt"));
}

TEST_CASE("scale_mask") {
  Attention a = each_shape();
  const std::vector<float> preatt = normal(a.scores(), 1);
  const Expected want = unfused::scale_mask_reference(a, preatt, all_rows(a.heads() * a.T));
  check_launch([&](float* scores) { unfused::scale_mask(a, scores); }, want,
               score_layout(a, "preatt"), 1, preatt);
}

TEST_CASE("scale_mask with more rows than a grid has blocks in y", "[large]") {
  const Attention a = {.B = 32769, .T = 2, .C = 1, .NH = 1, .block_size = 32};
  const std::vector<float> preatt = normal(a.scores(), 1);
  const Expected want = unfused::scale_mask_reference(a, preatt, all_rows(a.heads() * a.T));
  check_launch([&](float* scores) { unfused::scale_mask(a, scores); }, want,
               score_layout(a, "preatt"), 0, preatt);
}

TEST_CASE("a masked score is -infinity whatever it was, and no other is touched by the mask") {
  const Attention a = {.B = 1, .T = 3, .C = 1, .NH = 1};
  const std::vector<float> preatt = {1, INF, QUIET_NAN, 2, 3, -INF, 4, 5, 6};
  check_launch([&](float* scores) { unfused::scale_mask(a, scores); },
               exactly({1, -INF, -INF, 2, 3, -INF, 4, 5, 6}), score_layout(a, "preatt"), 0, preatt);
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

TEST_CASE("every stage with any block size") {
  Attention a = {.B = 2, .T = 11, .C = 10, .NH = 2};
  a.block_size = GENERATE(32, 64, 96, 256, 512, 1024);
  CAPTURE(a.block_size);
  check_softmax(a, 0);
  check_scale_mask_softmax(a, 0);

  const std::vector<float> qkv = values_for(a), preatt = raw_scores(a, 0);
  const DeviceBuffer<float> input(qkv);
  check_launch(
      [&](float* q) {
        unfused::permute(a, input.data(), q, q + a.elements(), q + 2 * a.elements());
      },
      exactly(unfused::permute_reference(a, qkv)),
      {.name = "qkv", .batch = 3 * a.heads(), .rows = a.T, .cols = a.HS()});
  check_launch([&](float* scores) { unfused::scale_mask(a, scores); },
               unfused::scale_mask_reference(a, preatt, all_rows(a.heads() * a.T)),
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
  const Expected want = unfused::softmax_reference(a, preatt, rows);
  for (int64_t t = 0; t < a.T; ++t) CHECK(std::isnan(want.value[t * a.T]) == is_nan[t]);
  const DeviceBuffer<float> input(preatt);
  check_launch([&](float* att) { unfused::softmax(a, input.data(), att); }, want,
               score_layout(a, "att"));
  check_launch([&](float* att) { unfused::scale_mask_softmax(a, input.data(), att); },
               unfused::scale_mask_softmax_reference(a, preatt, rows), score_layout(a, "att"));
}

TEST_CASE("values") {
  Attention a = each_shape();
  a.tf32 = GENERATE(false, true);
  const CublasHandle blas(a.tf32 ? Precision::tf32 : Precision::fp32);
  const std::vector<float> att = normal(a.scores(), 1), v = normal(a.elements(), 2);
  const DeviceBuffer<float> device_att(att, 1), device_v(v, 2);
  const Expected want = unfused::values_reference(a, att, v, all_rows(a.heads() * a.T));
  check_launch(
      [&](float* vaccum) { unfused::values(a, blas, device_att.data(), device_v.data(), vaccum); },
      want, head_layout(a, "vaccum"), 3);
}

TEST_CASE("values with the identity for att are v") {
  const Attention a = {.B = 2, .T = 7, .C = 10, .NH = 2};
  std::vector<float> att(a.scores(), 0.0f);
  for (int64_t row = 0; row < a.heads() * a.T; ++row) att[row * a.T + row % a.T] = 1;
  const std::vector<float> v = normal(a.elements(), 2);
  const CublasHandle blas;
  const DeviceBuffer<float> device_att(att), device_v(v);
  check_launch(
      [&](float* vaccum) { unfused::values(a, blas, device_att.data(), device_v.data(), vaccum); },
      exactly(v), head_layout(a, "vaccum"));
}

// ---- pieces

namespace {

/// Queries that begin in the middle of the sequence, in strips or not; with keys that a warp's
/// registers hold, or do not.
void check_masked_softmax(const Attention& a, const Piece& piece, float middle = 0, float rise = 0,
                          int64_t offset = 0) {
  CAPTURE(a.causal, a.block_size, piece.heads, piece.first_query, piece.queries, piece.keys, middle,
          rise, offset);
  std::vector<float> scores = normal(piece.scores(), 1);
  for (int64_t i = 0; i < piece.scores(); ++i)
    scores[i] +=
        (i / piece.keys % 2 == 0 ? middle : -middle) + rise * static_cast<float>(i % piece.keys);
  const Expected want =
      unfused::masked_softmax_reference(a, piece, scores, all_rows(piece.heads * piece.queries));
  check_launch([&](float* at) { unfused::masked_softmax(a, piece, at); }, want,
               {.name = "scores", .batch = piece.heads, .rows = piece.queries, .cols = piece.keys},
               offset, scores);
}

/// The last `queries` of `keys` keys: a strip at the end of the sequence.
Piece last_queries(int64_t heads, int64_t queries, int64_t keys) {
  return {.strip = 0,
          .first_head = 0,
          .heads = heads,
          .first_query = keys - queries,
          .queries = queries,
          .keys = keys};
}

}  // namespace

TEST_CASE("masked softmax of a piece: on both sides of each size that a kernel is chosen by") {
  Attention a = {.block_size = 64};
  a.causal = GENERATE(true, false);
  for (const int64_t limit : {128, 256, 512, 768, 1024})
    for (const int64_t keys : {limit - 4, limit - 1, limit, limit + 1, limit + 4})
      check_masked_softmax(a, last_queries(2, 3, keys));
}

TEST_CASE("masked softmax of a piece: any alignment, with rows of four floats and others") {
  Attention a = {.block_size = 32};
  a.causal = GENERATE(true, false);
  for (const int64_t keys : {1, 2, 3, 4, 5, 36, 38, 1028})
    for (const int64_t offset : {0, 1, 2, 3, 4})
      check_masked_softmax(a, last_queries(3, std::min<int64_t>(keys, 5), keys), 0, 0, offset);
}

TEST_CASE("masked softmax of a piece: scores far from zero, rising and falling") {
  Attention a;
  a.causal = GENERATE(true, false);
  for (const int64_t keys : {40, 41, 1030}) {
    for (const float middle : {200.0f, -20000.0f})
      check_masked_softmax(a, last_queries(2, 7, keys), middle);
    for (const float rise : {10.0f, -10.0f})
      check_masked_softmax(a, last_queries(2, 7, keys), 0, rise);
  }
}

TEST_CASE("masked softmax of a piece: any block size, and fewer rows than a block has warps") {
  Attention a;
  a.block_size = GENERATE(32, 96, 256, 288, 1024);
  for (const int64_t keys : {9, 60, 1025}) {
    check_masked_softmax(a, last_queries(1, 1, keys));
    check_masked_softmax(a, last_queries(3, 9, keys));
  }
}

TEST_CASE("masked softmax of a piece: PyTorch's answer where a row has none") {
  const Attention a = {.B = 1, .T = 40, .C = 3, .NH = 1, .causal = false};
  for (const int64_t keys : {40, 1100}) {
    const Piece piece = last_queries(1, 5, keys);
    std::vector<float> scores = normal(piece.scores(), 1);
    std::fill_n(scores.begin(), keys, -INF);
    scores[keys + 33] = INF;
    scores[2 * keys] = QUIET_NAN;
    std::fill_n(scores.begin() + 3 * keys, keys - 1, -INF);
    const Expected want = unfused::masked_softmax_reference(a, piece, scores, all_rows(5));
    for (int row = 0; row < 5; ++row) CHECK(std::isnan(want.value[row * keys]) == (row < 3));
    check_launch([&](float* at) { unfused::masked_softmax(a, piece, at); }, want,
                 {.name = "scores", .rows = 5, .cols = keys}, 0, scores);
  }
}

TEST_CASE("what is masked may be anything") {
  const Attention a = {.B = 1, .T = 6, .C = 1, .NH = 1};
  const Piece piece = last_queries(1, 6, 6);
  std::vector<float> scores = normal(36, 1);
  for (int64_t i = 0; i < 36; ++i)
    if (i % 6 > i / 6) scores[i] = i % 2 == 0 ? INF : QUIET_NAN;
  check_launch([&](float* at) { unfused::masked_softmax(a, piece, at); },
               unfused::masked_softmax_reference(a, piece, scores, all_rows(6)),
               {.name = "scores", .rows = 6, .cols = 6}, 0, scores);
}

TEST_CASE("pieces hold every query of every head once, with all keys that it sees") {
  Attention a = GENERATE(Attention{.B = 2, .T = 33, .C = 10, .NH = 5},
                         Attention{.B = 1, .T = 1, .C = 1, .NH = 1},
                         Attention{.B = 13, .T = 300, .C = 10, .NH = 10});
  a.causal = GENERATE(true, false);
  a.group = GENERATE(0, 1, 3, 1000);
  a.strip = GENERATE(0, 1, 8, 32, 33, 34);
  for (const unsigned cutting :
       {unfused::WHOLE, unfused::HEAD_GROUPS, unfused::STRIPS, unfused::LOW_STRIPS}) {
    CAPTURE(a.B, a.T, a.NH, a.causal, a.group, a.strip, cutting);
    const Cut cut = unfused::cut_of(a, cutting);
    std::vector<int> times(a.heads() * a.T, 0);
    int64_t most = 0, wrong = 0, room = 0;
    for (const Piece& piece : unfused::pieces(a, cut)) {
      for (int64_t head = 0; head < piece.heads; ++head)
        for (int64_t query = 0; query < piece.queries; ++query)
          ++times[(piece.first_head + head) * a.T + piece.first_query + query];
      const int64_t seen = a.causal ? piece.first_query + piece.queries : a.T;
      wrong += piece.keys != seen || piece.strip != piece.first_query / cut.strip;
      wrong += piece.keys != unfused::multiplied_keys(a, piece.first_query, cutting);
      wrong +=
          piece.keys != unfused::multiplied_keys(a, piece.first_query + piece.queries - 1, cutting);
      const int64_t lane = unfused::lane_of(piece.strip, cut.lanes);
      wrong += lane < 0 || lane >= cut.lanes;
      most = std::max(most, piece.scores());
      room = std::max(room, lane * cut.group * cut.strip * a.T + piece.scores());
    }
    CHECK(wrong == 0);
    CHECK(std::count(times.begin(), times.end(), 1) == a.heads() * a.T);
    CHECK(most <= cut.group * cut.strip * a.T);  // no lane reaches into the next,
    CHECK(room <= a.scores());                   // nor the last one beyond preatt
  }
}

TEST_CASE("the rules for groups and strips") {
  const Attention article = {.B = 8, .T = 1024, .C = 768, .NH = 12};
  CHECK(unfused::cut_of(article, unfused::WHOLE).group == 96);
  CHECK(unfused::cut_of(article, unfused::STRIPS).strip == 256);
  CHECK(unfused::cut_of(article, unfused::LOW_STRIPS).strip == 128);
  CHECK(unfused::cut_of(article, unfused::LOW_STRIPS).lanes == 4);
  Attention other = article;
  other.B = 1;  // 12 heads: a strip of 1024 rows is all of it
  CHECK(unfused::cut_of(other, unfused::LOW_STRIPS).strip == 1024);
  CHECK(unfused::cut_of(other, unfused::LOW_STRIPS).lanes == 1);
  other.T = 2500;
  CHECK(unfused::cut_of(other, unfused::LOW_STRIPS).strip == 1024);
  CHECK(unfused::cut_of(other, unfused::LOW_STRIPS).lanes == 2);
  other.causal = false;
  CHECK(unfused::cut_of(other, unfused::LOW_STRIPS).strip == 2500);
  CHECK(unfused::cut_of(other, unfused::STRIPS).strip == 2500);
  other.T = 1 << 20;  // the scores of one head are too many for any cache
  CHECK(unfused::cut_of(other, unfused::HEAD_GROUPS).group == 1);
  other.T = 1;
  CHECK(unfused::cut_of(other, unfused::HEAD_GROUPS).group == 12);
}

// ---- the pipelines

TEST_CASE("any strip: at its edges, with a last one that is shorter, with heads in groups") {
  const auto step = each_pipeline();
  if (step.features == unfused::WHOLE) return;
  Attention a = {.B = 2, .C = 12, .NH = 3, .block_size = 32};
  a.NH = GENERATE(1, 3);
  a.causal = GENERATE(true, false);
  a.group = GENERATE(1, 4);
  for (const int64_t strip : {1, 6, 16})
    for (const int64_t T : {1, 15, 16, 17, 33, 48}) {
      a.T = T;
      a.strip = strip;
      check_pipeline(step, a, values_for(a));
    }
}

TEST_CASE("rows of scores that a warp's registers do not hold") {
  const auto step = each_pipeline();
  const Attention a = {.B = 1, .T = 1028, .C = 2, .NH = 1, .strip = 600};
  if (step.launch == &unfused::row_in_registers || step.launch == &unfused::overlapped_strips)
    check_pipeline(step, a, values_for(a));
}

TEST_CASE("an infinite value reaches the queries that are multiplied with it, and no other") {
  const auto step = each_pipeline();
  Attention a = {.B = 2, .T = 20, .C = 6, .NH = 2, .strip = 8};
  a.causal = GENERATE(true, false);
  const float value = GENERATE(INF, QUIET_NAN);
  std::vector<float> qkv = values_for(a);
  qkv[((0 * a.T + 12) * 3 + 2) * a.C + 4] = value;  // batch 0, head 1: value 12
  const bool strips = step.features >= unfused::STRIPS && a.causal;
  const Expected want = unfused::attention_reference(a, qkv, all_rows(a.B * a.T), step.features);
  for (int64_t row = 0; row < a.B * a.T; ++row)
    for (int64_t c = 0; c < a.C; ++c) {
      const bool multiplied = row < a.T && c == 4 && row >= (strips ? 8 : 0);
      CHECK(std::isfinite(want.value[row * a.C + c]) == !multiplied);
      // Before key 12 the weight is 0, and 0·infinity is NaN.
      if (multiplied && a.causal && row < 12) CHECK(std::isnan(want.value[row * a.C + c]));
    }
  check_pipeline(step, a, qkv);
}

TEST_CASE("what follows on the default stream finds the result") {
  const auto step = each_pipeline();
  const Attention a = {.B = 1, .T = 160, .C = 32, .NH = 2, .strip = 32};
  const std::vector<float> first = values_for(a, 1), second = values_for(a, 2);
  DeviceBuffer<float> qkv(first), out(a.elements()), copy(a.elements());
  const DeviceBuffer<float> next(second);
  Workspace workspace(a);
  const size_t bytes = a.elements() * sizeof(float);
  // Nothing waits in between: the second input comes only when the first has been read, and the
  // copy only when the first result has been written.
  step.launch(a, qkv.data(), workspace, out.data());
  CUDA_CHECK(cudaMemcpyAsync(copy.data(), out.data(), bytes, cudaMemcpyDeviceToDevice));
  CUDA_CHECK(cudaMemcpyAsync(qkv.data(), next.data(), 3 * bytes, cudaMemcpyDeviceToDevice));
  step.launch(a, qkv.data(), workspace, out.data());
  const auto rows = all_rows(a.B * a.T);
  const auto check = [&](const DeviceBuffer<float>& got, const std::vector<float>& input) {
    const Comparison comparison =
        compare(got.to_host(), unfused::attention_reference(a, input, rows), out_layout(a));
    INFO(comparison.report);
    CHECK(comparison.ok);
  };
  check(copy, first);
  check(out, second);
}

TEST_CASE("any shape, causal and full") {
  const auto step = each_pipeline();
  const Attention a = each_shape();
  check_pipeline(step, a, values_for(a));
}

TEST_CASE("an empty problem is left alone") {
  const auto step = each_pipeline();
  const Attention a = GENERATE(
      Attention{.B = 0, .T = 5, .C = 6, .NH = 2}, Attention{.B = 2, .T = 0, .C = 6, .NH = 2},
      Attention{.B = 2, .T = 5, .C = 0, .NH = 2}, Attention{.B = 2, .T = 5, .C = 0, .NH = 0});
  check_pipeline(step, a, {});
}

TEST_CASE("any block size") {
  const auto step = each_pipeline();
  Attention a = {.B = 2, .T = 11, .C = 10, .NH = 2};
  a.block_size = GENERATE(32, 96, 256, 1024);
  check_pipeline(step, a, values_for(a));
}

TEST_CASE("any alignment of qkv and out") {
  const auto step = each_pipeline();
  const Attention a = {.B = 2, .T = 21, .C = 10, .NH = 2, .block_size = 32};
  for (const int64_t offset : {1, 2, 3}) check_pipeline(step, a, values_for(a), offset, 4 - offset);
}

TEST_CASE("scores far from zero") {
  const auto step = each_pipeline();
  Attention a = {.B = 2, .T = 45, .C = 10, .NH = 2, .block_size = 32};
  a.causal = GENERATE(true, false);
  for (const float score : {200.0f, -200.0f, -20000.0f})
    check_pipeline(step, a, qkv_with_scores_near(a, score));
}

TEST_CASE("products in TF32") {
  const auto step = each_pipeline();
  Attention a = {.B = 2, .T = 45, .C = 36, .NH = 3, .tf32 = true, .block_size = 32};
  a.causal = GENERATE(true, false);
  check_pipeline(step, a, values_for(a));
}

TEST_CASE("a NaN reaches the queries that see its key, and no other") {
  const auto step = each_pipeline();
  const Attention a = {.B = 2, .T = 20, .C = 6, .NH = 2};
  std::vector<float> qkv = values_for(a);
  qkv[((0 * a.T + 12) * 3 + 1) * a.C + 4] = QUIET_NAN;  // batch 0, head 1: key 12
  const Expected want = unfused::attention_reference(a, qkv, all_rows(a.B * a.T));
  for (int64_t row = 0; row < a.B * a.T; ++row)
    for (int64_t c = 0; c < a.C; ++c)
      CHECK(std::isnan(want.value[row * a.C + c]) == (row < a.T && row >= 12 && c >= 3));
  check_pipeline(step, a, qkv);
}

// ---- what is refused

TEST_CASE("what cannot be computed is refused in one sentence") {
  const auto refusal = [](const Attention& a) -> std::string {
    try {
      unfused::require_supported(a);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto refused_for = [&](const Attention& a, const char* word) {
    INFO(refusal(a));
    CHECK(refusal(a).find(word) != std::string::npos);
  };
  CHECK(refusal({.B = 1, .T = 8, .C = 12, .NH = 3}).empty());
  refused_for({.B = 1, .T = 8, .C = 10, .NH = 3}, "10 channels");
  refused_for({.B = 1, .T = 8, .C = 2, .NH = 3}, "--heads");
  refused_for({.B = 1, .T = 8, .C = 2, .NH = 0}, "--heads");
  for (const int block_size : {0, 16, 33, 1025, 1056, 2048})
    refused_for({.B = 1, .T = 8, .C = 2, .NH = 1, .block_size = block_size}, "--block-size");
  refused_for({.B = 1 << 20, .T = 8, .C = 1 << 20, .NH = 1 << 20}, "2147483647");
  refused_for({.B = 1, .T = int64_t{1} << 31, .C = 1, .NH = 1}, "2147483647");
}

TEST_CASE("a pipeline refuses before it launches anything") {
  const auto step = each_pipeline();
  const Attention good = {.B = 1, .T = 8, .C = 6, .NH = 2};
  const std::vector<float> qkv = values_for(good);
  const DeviceBuffer<float> input(qkv);
  Workspace workspace(good);
  DeviceBuffer<float> out(good.elements());
  Attention bad = good;
  bad.block_size = 48;
  CHECK_THROWS_AS(step.launch(bad, input.data(), workspace, out.data()), Error);
  bad = good;
  bad.C = int64_t{1} << 30;  // 3·C is the distance between rows of q, k and v
  if (step.launch != &unfused::unfused && step.launch != &unfused::fused_softmax)
    CHECK_THROWS_AS(step.launch(bad, input.data(), workspace, out.data()), Error);
  for (const float value : out.to_host()) CHECK(std::isnan(value));
}

TEST_CASE("the workspace holds what it says") {
  Attention a = {.B = 2, .T = 7, .C = 6, .NH = 3};
  a.strip = GENERATE(0, 2);
  const Workspace w(a);
  const int64_t floats =
      w.q.size() + w.k.size() + w.v.size() + w.preatt.size() + w.att.size() + w.vaccum.size();
  CHECK(unfused::workspace_bytes(a) ==
        4.0 * static_cast<double>(floats) + 8.0 * static_cast<double>(w.addresses.size()));
}
