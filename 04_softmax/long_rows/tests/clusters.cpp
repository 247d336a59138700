// Rows that clusters of 4, 8 and 16 blocks share.
#include "common/backend/backend.hpp"
#include "common/testing/testing.hpp"
#include "long_rows/long_rows.hpp"
#include "tests/every_step.hpp"

namespace tutorial::softmax::long_rows {
namespace {

TEST_CASE("rows for a cluster of blocks") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  check_rows_of(EACH_STEP(steps), {32768, 32769, 40001});
}

TEST_CASE("rows that fill a cluster of blocks, and longer ones", "[large]") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  const auto step = EACH_STEP(steps);
  if (device_has_clock()) return check_very_long_rows(step);
  // Slow: one length for each size of cluster.
  if (step.needs[0] != 0) check_rows_of(step, {65537, 131073});
}

TEST_CASE("special values in rows for a cluster", "[large]") {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
  const auto step = EACH_STEP(steps);
  if (device_has_clock() || step.needs[0] != 0) check_special_values(step);
}

}  // namespace
}  // namespace tutorial::softmax::long_rows
