// Rows that clusters of 4, 8 and 16 blocks share.
#include <cmath>
#include <limits>

#include "04_softmax.hpp"
#include "common/backend/backend.hpp"
#include "common/testing/testing.hpp"
#include "tests/check_step.hpp"

namespace tutorial::softmax {
namespace {

void check_cluster_rows(const Step<Launcher>& step, const std::vector<int64_t>& columns) {
  for (const int64_t cols : columns)
    for (const auto& [x, y] : {std::pair<int64_t, int64_t>{0, 0}, {3, 3}, {1, 2}})
      check_step(step, normal(2, cols), 2, cols, {x, y});
}

TEST_CASE("rows for a cluster of blocks") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  const auto step = EACH_STEP(steps);
  check_cluster_rows(step, {32768, 32769, 40001});
}

TEST_CASE("rows that fill a cluster of blocks, and longer ones", "[large]") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  const auto step = EACH_STEP(steps);
  // Up to 65536 columns step 8 has 4 blocks, up to 131072 8, then 16, and from 695784 columns on
  // none. From 463848 on a row no longer fits step 7's cluster, where a block has 227 KB.
  if (!device_has_clock()) {  // slow: one length for each size of cluster
    if (step.needs[0] != 0) check_cluster_rows(step, {65537, 131073});
    return;
  }
  check_cluster_rows(step, {65536, 65537, 131072, 131073, 250002, 463847, 463848, 695783, 695784});
  check_step(step, normal(33, 40001), 33, 40001);  // from every distance to a 128-byte boundary
}

TEST_CASE("special values in rows for a cluster", "[large]") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  const auto step = EACH_STEP(steps);
  constexpr float INF = std::numeric_limits<float>::infinity();
  for (const int64_t cols : {40000, 70001, 140002}) {         // for 4, 8 and 16 blocks
    if (!device_has_clock() && step.needs[0] == 0) continue;  // other tests have them
    std::vector<float> x = normal(6, cols);
    const auto row = [&](int64_t r) { return x.begin() + r * cols; };
    std::fill(row(1), row(2), -INF);                 // all: NaN
    std::fill(row(2), row(2) + cols * 3 / 4, -INF);  // all that most blocks see
    x[3 * cols + cols / 2] = std::numeric_limits<float>::quiet_NaN();
    x[4 * cols + cols - 1] = INF;
    std::fill(row(5), row(6), -INF);
    x[5 * cols + cols - 1] = std::numeric_limits<float>::quiet_NaN();
    check_step(step, x, 6, cols);
  }
}

}  // namespace
}  // namespace tutorial::softmax
