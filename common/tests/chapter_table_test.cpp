// The table alone, which can show times on any backend.
#include "common/program/state.hpp"
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

TEST_CASE("What a kernel takes of the device stands below its step", "[chapter][table]") {
  Result step = timed("tiled", 1, 2);
  step.time->clock_mhz = 1755.2;
  step.kernels = {{.kernel = "tiled_kernel<4, 1>",
                   .launches = 1,
                   .takes = {.blocks = 12,
                             .threads = 256,
                             .registers = 96,
                             .shared_bytes = 16640,
                             .local_bytes = 8,
                             .occupancy = 0.25}},
                  {.kernel = "counted_only"}};  // as on the CPU, where nobody knows
  const std::string csv = csv_text({step}, "02", "a device", "a problem");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  const std::string of_step = line_with(csv, "\"tiled\""), of_kernel = line_with(csv, ",kernel,");
  CHECK_THAT(of_step, ContainsSubstring(",1755,,,,,"));
  CHECK_THAT(of_kernel, StartsWith("\"02\",\"a device\",\"a problem\",\"tiled_kernel<4, 1>\","));
  CHECK_THAT(of_kernel, ContainsSubstring(",96,16640,8,0.25,12,3072,"));
  const std::string heads = csv.substr(0, csv.find('\n'));
  const auto commas = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  CHECK(commas(of_step) == commas(heads));
  CHECK(commas(of_kernel) == commas(heads) + 1);  // one in the kernel's name
}
