// Step 4's kernel alone, on the whole of the scores and on strips.
#include <algorithm>
#include <cmath>

#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

/// Queries that begin in the middle of the sequence, in strips or not; with keys that a warp's
/// registers hold, or do not.
void check_masked_softmax(const Attention& a, const Strip& strip, float middle = 0, float rise = 0,
                          int64_t offset = 0) {
  CAPTURE(a.causal, a.block_size, a.B, strip.first_query, strip.queries, strip.keys, middle, rise,
          offset);
  std::vector<float> scores = normal(a.B * strip.queries * strip.keys, 1);
  for (int64_t i = 0; i < static_cast<int64_t>(scores.size()); ++i)
    scores[i] +=
        (i / strip.keys % 2 == 0 ? middle : -middle) + rise * static_cast<float>(i % strip.keys);
  const Expected want = masked_softmax_reference(a, strip, scores, all_rows(a.B * strip.queries));
  check_launch([&](float* at) { masked_softmax(a, strip, at); }, want,
               {.name = "scores", .batch = a.B, .rows = strip.queries, .cols = strip.keys}, offset,
               scores);
}

/// The last `queries` of `keys` keys: a strip at the end of the sequence.
Strip last_queries(int64_t queries, int64_t keys) {
  return {.first_query = keys - queries, .queries = queries, .keys = keys};
}

TEST_CASE("masked softmax of a strip: on both sides of each size that a kernel is chosen by",
          "[shapes]") {
  Attention a = {.B = 2, .block_size = 64};
  a.causal = GENERATE(true, false);
  for (const int64_t limit : {128, 256, 512, 768, 1024})
    for (const int64_t keys : {limit - 4, limit - 1, limit, limit + 1, limit + 4})
      check_masked_softmax(a, last_queries(3, keys));
}

TEST_CASE("masked softmax of a strip: any alignment, with rows of four floats and others") {
  Attention a = {.B = 3, .block_size = 32};
  a.causal = GENERATE(true, false);
  for (const int64_t keys : {1, 2, 3, 4, 5, 36, 38, 1028})
    for (const int64_t offset : {0, 1, 2, 3, 4})
      check_masked_softmax(a, last_queries(std::min<int64_t>(keys, 5), keys), 0, 0, offset);
}

TEST_CASE("masked softmax of a strip: scores far from zero, rising and falling") {
  Attention a = {.B = 2};
  a.causal = GENERATE(true, false);
  for (const int64_t keys : {40, 41, 1030}) {
    for (const float middle : {200.0f, -20000.0f})
      check_masked_softmax(a, last_queries(7, keys), middle);
    for (const float rise : {10.0f, -10.0f})
      check_masked_softmax(a, last_queries(7, keys), 0, rise);
  }
}

// Segments as wide as a lane's numbers, a warp's, and more than a warp's registers hold of a row.
TEST_CASE("masked softmax of a strip: maxima that rise, fall, jump or are -infinity", "[values]") {
  const Attention a = {.B = 1, .causal = false, .block_size = 64};
  for (const auto& [segments, width] :
       {std::pair<int, int64_t>{3, 4}, {3, 32}, {2, 128}, {2, 550}}) {
    CAPTURE(segments, width);
    const HardRows hard = hard_rows(segments, width);
    const Strip strip = {.first_query = 0, .queries = hard.rows, .keys = hard.cols};
    check_launch([&](float* at) { masked_softmax(a, strip, at); },
                 masked_softmax_reference(a, strip, hard.values, all_rows(hard.rows)),
                 {.name = "scores", .rows = hard.rows, .cols = hard.cols}, 0, hard.values);
  }
}

TEST_CASE("masked softmax of a strip: any block size, and fewer rows than a block has warps") {
  Attention a;
  a.block_size = GENERATE(32, 96, 256, 288, 1024);
  for (const int64_t keys : {9, 60, 1025}) {
    a.B = 1;
    check_masked_softmax(a, last_queries(1, keys));
    a.B = 3;
    check_masked_softmax(a, last_queries(9, keys));
  }
}

TEST_CASE("masked softmax of a strip: PyTorch's answer where a row has none") {
  const Attention a = {.B = 1, .T = 40, .C = 3, .NH = 1, .causal = false};
  for (const int64_t keys : {40, 1100}) {
    const Strip strip = last_queries(5, keys);
    std::vector<float> scores = normal(strip.queries * strip.keys, 1);
    std::fill_n(scores.begin(), keys, -INF);
    scores[keys + 33] = INF;
    scores[2 * keys] = QUIET_NAN;
    std::fill_n(scores.begin() + 3 * keys, keys - 1, -INF);
    const Expected want = masked_softmax_reference(a, strip, scores, all_rows(5));
    for (int row = 0; row < 5; ++row) CHECK(std::isnan(want.value[row * keys]) == (row < 3));
    check_launch([&](float* at) { masked_softmax(a, strip, at); }, want,
                 {.name = "scores", .rows = 5, .cols = keys}, 0, scores);
  }
}

TEST_CASE("masked softmax of a strip: more rows than a small grid has blocks") {
  const SmallGrid grid(2, 2);
  Attention a = {.B = 3, .block_size = 64};
  a.causal = GENERATE(true, false);
  check_masked_softmax(a, last_queries(5, 1030), 200);
}

TEST_CASE("what is masked may be anything") {
  const Attention a = {.B = 1, .T = 6, .C = 1, .NH = 1};
  const Strip strip = last_queries(6, 6);
  std::vector<float> scores = normal(36, 1);
  for (int64_t i = 0; i < 36; ++i)
    if (i % 6 > i / 6) scores[i] = i % 2 == 0 ? INF : QUIET_NAN;
  check_launch([&](float* at) { masked_softmax(a, strip, at); },
               masked_softmax_reference(a, strip, scores, all_rows(6)),
               {.name = "scores", .rows = 6, .cols = 6}, 0, scores);
}

}  // namespace
}  // namespace tutorial::unfused_attention
