// The table alone, which can show times on any backend.
#include "common/program/table_text.hpp"

#include <sstream>

#include "common/tests/program/copies.hpp"

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
  skipped.time.reset();
  Result wrong = timed("tiled", 2, 1);
  wrong.verdict = Verdict::wrong;
  wrong.time.reset();
  const std::vector<Result> results = {vendor, timed("naive", 1, 20), wrong, skipped,
                                       timed("vectorised", 4, 5)};
  CHECK(table_text(results, true, false) ==
        "step          check  max error     ms  TFLOP/s  of cuBLAS  of bound   gain\n"
        "1 naive       ok       4.1e-05  20.00     6.87       12 %      10 %      –\n"
        "2 tiled       WRONG    4.1e-05      –        –          –         –      –\n"
        "3 hopper      skipped: needs sm_90a\n"
        "4 vectorised  ok       4.1e-05   5.00     27.5       50 %      40 %  ×4.00\n"
        "  cuBLAS      ok       4.1e-05   2.50     55.0      100 %      80 %      –\n");
  CHECK_THAT(table_text(results, true, true),
             StartsWith("step          check  max error    bound     ms  spread  TFLOP/s") &&
                 ContainsSubstring("1 naive       ok       4.1e-05  3.9e-03  20.00   2.0 %"));
}

TEST_CASE("The times in --csv", "[chapter][table]") {
  Result vendor = timed("cuBLAS", 0, 2.5), stage = timed("permute", 0, 0.5);
  vendor.is_vendor = true;
  stage.is_stage = true;
  stage.cost = {.flop = 0, .bytes = 3e5};
  stage.bound_ms = 0.125;
  Result step = timed("naive", 1, 20);
  step.time->clock_mhz = 1755.2;
  const Problem problem = {.device = "a device", .line = "a problem"};
  const std::string csv = csv_text({stage, step, vendor}, "02", problem);
  CHECK(line_with(csv, "naive") ==
        "\"02\",\"a device\",\"a problem\",\"naive\",step,ok,\"\",4.1e-05,0.0039,"
        "1.374e+11,201000000,20,19.8,20.2,20,0.125,0.1,1755" +
            std::string(4 + 17, ','));  // what a kernel takes; counts
  CHECK_THAT(
      line_with(csv, "permute"),
      ContainsSubstring(",stage,ok,\"\",4.1e-05,0.0039,0,300000,0.5,0.495,0.505,20,,0.25,0,"));
  CHECK_THAT(line_with(csv, "cuBLAS"), ContainsSubstring(",2.5,2.475,2.525,20,1,0.8,0,"));
  // A quote is written twice. What is no step, no stage and no vendor's is what a road leads to.
  const std::string goal = csv_text({timed("a \"goal\"", 0, 1)}, "02", problem);
  CHECK_THAT(line_with(goal, "goal"), ContainsSubstring(",\"a \"\"goal\"\"\",goal,ok,"));
}

TEST_CASE("The counts in --csv", "[chapter][table]") {
  Result counted = timed("naive", 1, 1);
  counted.time.reset();
  counted.is_counted = true;
  counted.blocks = 2;
  counted.threads = 3;
  counted.counts.loads = {.requests = 4, .lanes = 100, .bytes = 5, .sectors = 6};
  counted.counts.stores = {.requests = 7, .lanes = 100, .bytes = 8, .sectors = 9};
  counted.counts.atomics = {.requests = 100, .lanes = 10, .bytes = 100, .sectors = 100};
  counted.counts.shared_loads = {
      .requests = 11, .lanes = 12, .bytes = 100, .wavefronts = 100, .conflicts = 13};
  counted.counts.shared_stores = {
      .requests = 14, .lanes = 15, .bytes = 100, .wavefronts = 100, .conflicts = 16};
  counted.counts.shared_atomics = {.requests = 100, .lanes = 17, .conflicts = 3};
  counted.counts.async_copies = 18;
  counted.counts.barriers = 19;
  counted.counts.warp_operations = 20;
  const std::string csv = csv_text({counted}, "02", {.device = "a device", .line = "a problem"});
  const std::string columns =
      "blocks,threads,global_load_bytes,global_store_bytes,shared_loads,shared_stores,barriers,"
      "warp_operations,atomics,load_requests,load_sectors,store_requests,store_sectors,"
      "shared_load_requests,shared_load_conflicts,shared_store_requests,shared_store_conflicts";
  CHECK_THAT(csv, ContainsSubstring(",occupancy," + columns + "\n"));
  // Stored are 15 by threads and 18 by asynchronous copies; 10 + 17 atomics.
  CHECK_THAT(csv, ContainsSubstring(",,2,3,5,8,12,33,19,20,27,4,6,7,9,11,13,14,16\n"));
  // 6 + 9 + 100 sectors in 4 + 7 + 100 requests; 13 + 16 + 3 conflicts.
  CHECK(table_text({counted}, false, true) ==
        "step     check  max error    bound  blocks  threads  loads  stores  sectors/request  "
        "shared accesses  conflicts  barriers  warp ops  atomics\n"
        "1 naive  ok       4.1e-05  3.9e-03       2        3    5 B     8 B              1.0  "
        "             45         32        19        20       27\n");
}

TEST_CASE("A long reason takes several lines, none wider than the table may be",
          "[chapter][table]") {
  Result refused = timed("hopper", 1, 1);
  refused.verdict = Verdict::refused;
  refused.time.reset();
  for (int i = 0; i < 40; ++i) refused.message += i == 0 ? "because" : " because";
  const std::string table = table_text({refused}, true, false);
  CHECK(std::count(table.begin(), table.end(), '\n') > 4);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(screen_width(line) <= kTableWidth);
}

TEST_CASE("The widest table of counts fits", "[chapter][table]") {
  Result counted = timed("scores (cuBLAS, fp32)", 0, 1);
  counted.is_stage = true;
  counted.time.reset();
  counted.is_counted = true;
  counted.blocks = 1;
  counted.counts.loads = {
      .requests = 1 << 30, .bytes = 123'400'000'000, .sectors = int64_t{1} << 34};
  counted.counts.stores = counted.counts.loads;
  counted.counts.shared_loads = {.lanes = 1, .conflicts = 123'400'000'000};
  counted.counts.barriers = 123'400'000'000;
  std::istringstream lines(table_text({counted}, false, false));
  for (std::string line; std::getline(lines, line);) CHECK(screen_width(line) <= kTableWidth);
}

TEST_CASE("A stage's rate has its own unit", "[chapter][table]") {
  Result stage = timed("permute", 0, 0.1);
  stage.is_stage = true;
  stage.by_arithmetic = false;
  const std::string table = table_text({timed("unfused", 1, 20), stage}, true, false);
  CHECK_THAT(line_with(table, "unfused"), ContainsSubstring("6.87 TFLOP/s"));
  CHECK_THAT(line_with(table, "permute"), ContainsSubstring("2010 GB/s"));
  CHECK_THAT(table_text({stage}, true, false), ContainsSubstring("  GB/s"));
}

TEST_CASE("A step's gain is over the timed step before it, and there may be no bound",
          "[chapter][table]") {
  Result stage = timed("permute", 2, 0.1), vendor = timed("cuBLAS", 0, 2.5);
  stage.is_stage = vendor.is_vendor = true;
  std::vector<Result> results = {timed("third", 3, 5), timed("first", 1, 20), stage, vendor,
                                 timed("fourth", 4, 2)};
  results.push_back(timed("second", 2, 10));
  for (Result& result : results) result.bound_ms = 0;
  const std::string table = table_text(results, true, false);
  CHECK_THAT(table, !ContainsSubstring("of bound"));
  CHECK_THAT(line_with(table, "fourth"), ContainsSubstring("×2.50"));
  CHECK_THAT(line_with(table, "permute"), ContainsSubstring("  –  "));
}

TEST_CASE("No bank conflicts are told where there is shared memory", "[chapter][table]") {
  Result counted = timed("tiled", 1, 1), other = timed("failed", 2, 1);
  counted.time.reset(), other.time.reset();
  counted.is_counted = true;
  counted.blocks = 1;
  counted.counts.shared_loads = {.requests = 1, .lanes = 32};
  const std::string table = table_text({counted, other}, false, false);
  CHECK_THAT(table, ContainsSubstring("conflicts"));
  CHECK_THAT(line_with(table, "2 failed"), ContainsSubstring("–"));
}

TEST_CASE("The table of counts", "[chapter][table]") {
  Result counted = timed("naive", 1, 1);
  counted.time.reset();
  counted.is_counted = true;
  counted.blocks = 144;
  counted.threads = 36864;
  counted.counts.loads = {.requests = 300, .bytes = 2123456, .sectors = 700};
  counted.counts.stores = {.requests = 100, .bytes = 147456, .sectors = 300};
  Result vendor = counted;
  vendor.name = "cuBLAS";
  vendor.number = 0;
  vendor.is_vendor = true;
  vendor.blocks = 0;
  vendor.counts = {};
  CHECK(table_text({counted, vendor}, false, false) ==
        "step      check  max error    loads  stores  sectors/request\n"
        "1 naive   ok       4.1e-05  2.12 MB  147 kB              2.5\n"
        "  cuBLAS  ok       4.1e-05        –       –                –\n");
  CHECK_THAT(table_text({counted, vendor}, false, true),
             ContainsSubstring("  blocks  threads    loads  stores  sectors/request\n"));
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
  const std::string csv = csv_text({step}, "02", {.device = "a device", .line = "a problem"});
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
