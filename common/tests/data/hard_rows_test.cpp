// Rows that a softmax gets wrong: every combination is there, and attention's scores are the same.
#include "common/data/hard_rows.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

namespace tutorial {

TEST_CASE("hard rows: every combination of runs has its row") {
  const HardRows hard = hard_rows(3, 4);
  CHECK(hard.rows == 216);
  CHECK(hard.cols == 12);
  CHECK(std::ssize(hard.values) == 216 * 12);
  std::set<std::vector<Run>> combinations;
  for (int64_t row = 0; row < hard.rows; ++row)
    combinations.insert({run_of(row, 0), run_of(row, 1), run_of(row, 2)});
  CHECK(combinations.size() == 216);
}

TEST_CASE("hard rows: the runs are what they are called") {
  const auto first = [](Run run, int segment) { return score_of(run, segment, 3, 0, 8); };
  const auto last = [](Run run, int segment) { return score_of(run, segment, 3, 7, 8); };
  for (int segment = 0; segment < 3; ++segment) {
    CHECK(last(Run::rise, segment) > first(Run::rise, segment) + 8);
    CHECK(last(Run::fall, segment) < first(Run::fall, segment) - 8);
    CHECK(std::isinf(std::exp(first(Run::jump_up, segment))));
    CHECK(std::exp(first(Run::jump_down, segment)) == 0);
    CHECK(std::exp(first(Run::underflow, segment)) > 0x1p-126f);
    CHECK(std::exp(last(Run::underflow, segment)) < 0x1p-126f);
    CHECK(std::exp(last(Run::underflow, segment)) > 0);
    CHECK(first(Run::minus_infinity, segment) == -INFINITY);
    if (segment == 0) continue;
    CHECK(first(Run::rise, segment) > last(Run::rise, segment - 1));
    CHECK(first(Run::fall, segment) < last(Run::fall, segment - 1));
    const double octaves = std::log(2.0) * 128;
    CHECK(first(Run::jump_up, segment) > last(Run::jump_up, segment - 1) + octaves);
    CHECK(last(Run::jump_down, segment) < first(Run::jump_down, segment - 1) - octaves);
  }
}

TEST_CASE("hard rows: as products of queries and keys they are the same") {
  const int64_t HS = 16, width = 4;
  const HardScores hard = hard_scores(2, width, HS);
  REQUIRE(HS >= least_head_size(2));
  CHECK(hard.heads == 4);
  CHECK(hard.queries == 25);
  CHECK(hard.keys == 8);
  for (int64_t head = 0; head < hard.heads; ++head)
    for (int64_t query = 0; query < hard.queries; ++query)
      for (int64_t key = 0; key < hard.keys; ++key) {
        double score = 0;
        for (int64_t d = 0; d < HS; ++d)
          score += hard.q[(head * 25 + query) * HS + d] * hard.k[(head * 8 + key) * HS + d] / 4;
        const int segment = static_cast<int>(key / width);
        const Run run =
            (head >> segment & 1) != 0 ? Run::minus_infinity : run_of(query, segment, RUNS - 1);
        CHECK(score == score_of(run, segment, 2, key % width, width));
      }
}

}  // namespace tutorial
