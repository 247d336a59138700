#include "common/data/hard_rows.hpp"

#include <cmath>
#include <limits>

namespace tutorial {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr int64_t FINITE_RUNS = RUNS - 1;  // minus_infinity is the last

int64_t power(int64_t base, int exponent) {
  int64_t result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

}  // namespace

Run run_of(int64_t row, int segment, int64_t runs) {
  return static_cast<Run>(row / power(runs, segment) % runs);
}

float score_of(Run run, int segment, int segments, int64_t at, int64_t width) {
  const float part = static_cast<float>(at) / static_cast<float>(width),
              wiggle = static_cast<float>(at * 5 % 7) / 7;
  switch (run) {
    case Run::rise:
      return 12.0f * static_cast<float>(segment) + 10 * part;
    case Run::fall:
      return 12.0f * static_cast<float>(segments - segment) - 10 * part;
    case Run::jump_up:
      return 150.0f * static_cast<float>(segment + 1) + wiggle;
    case Run::jump_down:
      return -150.0f * static_cast<float>(segment + 1) + wiggle;
    case Run::underflow:
      return -78 - 26 * part;
    case Run::minus_infinity:
      break;
  }
  return -INF;
}

HardRows hard_rows(int segments, int64_t width) {
  HardRows hard = {power(RUNS, segments), segments * width, {}};
  for (int64_t row = 0; row < hard.rows; ++row)
    for (int segment = 0; segment < segments; ++segment)
      for (int64_t at = 0; at < width; ++at)
        hard.values.push_back(score_of(run_of(row, segment), segment, segments, at, width));
  return hard;
}

int64_t least_head_size(int segments) {
  return 1 + FINITE_RUNS * segments;
}

// Column 0 is for -∞. Each other one is for a segment and a run: there a key of the segment has
// that run's score, and a query that wants it has a 1.
HardScores hard_scores(int segments, int64_t width, int64_t HS) {
  HardScores hard = {power(2, segments), power(FINITE_RUNS, segments), segments * width, {}, {}};
  const auto column = [&](int segment, int64_t run) { return 1 + FINITE_RUNS * segment + run; };
  for (int64_t head = 0; head < hard.heads; ++head) {
    for (int64_t query = 0; query < hard.queries; ++query) {
      std::vector<float> q(static_cast<size_t>(HS));
      q[0] = 1;
      for (int segment = 0; segment < segments; ++segment) {
        const auto run = static_cast<int64_t>(run_of(query, segment, FINITE_RUNS));
        q[static_cast<size_t>(column(segment, run))] = 1;
      }
      hard.q.insert(hard.q.end(), q.begin(), q.end());
    }
    for (int64_t key = 0; key < hard.keys; ++key) {
      std::vector<float> k(static_cast<size_t>(HS));
      const int segment = static_cast<int>(key / width);
      k[0] = (head >> segment & 1) != 0 ? -INF : 0;
      for (int64_t run = 0; run < FINITE_RUNS; ++run)
        k[static_cast<size_t>(column(segment, run))] =
            std::sqrt(static_cast<float>(HS)) *
            score_of(static_cast<Run>(run), segment, segments, key % width, width);
      hard.k.insert(hard.k.end(), k.begin(), k.end());
    }
  }
  return hard;
}

}  // namespace tutorial
