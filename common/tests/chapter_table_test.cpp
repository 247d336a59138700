// The table alone, which can show times on any backend.
#include "common/chapter_state.hpp"
#include "common/tests/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

namespace {

Result timed(const std::string& name, int number, double ms) {
  Result result;
  result.name = name;
  result.number = number;
  result.max_error = 4.1e-5;
  result.bound = 3.9e-3;
  result.cost = {.flop = 137.4e9, .bytes = 201e6};
  result.by_arithmetic = true;
  result.bound_ms = 2.0;
  result.time = Timing{.median_ms = ms, .low_ms = 0.99 * ms, .high_ms = 1.01 * ms, .repeats = 20};
  return result;
}

}  // namespace

TEST_CASE("The table of times", "[chapter][table]") {
  Result vendor = timed("cuBLAS", 0, 2.5);
  vendor.is_vendor = true;
  Result skipped = timed("hopper", 3, 1);
  skipped.verdict = Verdict::skipped;
  skipped.message = "needs sm_90a";
  Result wrong = timed("tiled", 2, 1);
  wrong.verdict = Verdict::wrong;
  wrong.time.reset();
  CHECK(table_text({vendor, timed("naive", 1, 20), wrong, skipped}, true) ==
        "step      check  max error    bound     ms  spread  TFLOP/s  of cuBLAS  of bound\n"
        "1 naive   ok       4.1e-05  3.9e-03  20.00   2.0 %     6.87       12 %      10 %\n"
        "2 tiled   WRONG    4.1e-05  3.9e-03      –       –        –          –         –\n"
        "3 hopper  skipped: needs sm_90a\n"
        "  cuBLAS  ok       4.1e-05  3.9e-03   2.50   2.0 %     55.0      100 %      80 %\n");
}

TEST_CASE("A stage's rate has its own unit", "[chapter][table]") {
  Result stage = timed("permute", 0, 0.1);
  stage.is_stage = true;
  stage.by_arithmetic = false;
  const std::string table = table_text({timed("unfused", 1, 20), stage}, true);
  CHECK_THAT(line_with(table, "unfused"), ContainsSubstring("6.87 TFLOP/s"));
  CHECK_THAT(line_with(table, "permute"), ContainsSubstring("2010 GB/s"));
}

TEST_CASE("The table of counts", "[chapter][table]") {
  Result counted = timed("naive", 1, 1);
  counted.time.reset();
  counted.work = Work{
      .blocks = 144, .threads = 36864, .global_load_bytes = 2123456, .global_store_bytes = 147456};
  counted.counts.loads = {.requests = 300, .sectors = 700};
  counted.counts.stores = {.requests = 100, .sectors = 300};
  Result vendor = counted;
  vendor.name = "cuBLAS";
  vendor.number = 0;
  vendor.is_vendor = true;
  vendor.work = Work{};
  vendor.counts = {};
  CHECK(table_text({counted, vendor}, false) ==
        "step      check  max error    bound  blocks  threads  global loads  global stores"
        "  sectors/request\n"
        "1 naive   ok       4.1e-05  3.9e-03     144    36864       2.12 MB         147 kB"
        "              2.5\n"
        "  cuBLAS  ok       4.1e-05  3.9e-03       –        –             –              –"
        "                –\n");
}
