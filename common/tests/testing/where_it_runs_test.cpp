// The check of the table of GPUs. What it launches here is docs/setup.md's chapter 06.
#include "common/testing/where_it_runs.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/backend/planned_launches.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/recorded_registers.hpp"
#include "common/testing/testing.hpp"

namespace tutorial {
namespace {

using Catch::Matchers::ContainsSubstring;

/// What chapter 06's program would say, of a step that needs so much shared memory.
std::vector<std::string> problems_with(AskedStep step, int64_t bytes) {
  if (planned_capabilities().empty()) SKIP("only the simulator is asked about other GPUs");
  return problems_of(step, [&] { require_shared_memory(bytes, "it", "take less"); });
}

}  // namespace

TEST_CASE("a step that is refused where the table says that it runs is found") {
  const auto problems = problems_with({.part = "06", .name = "some_step"}, 100 << 10);
  REQUIRE(problems.size() == 3);
  CHECK_THAT(problems[0],
             ContainsSubstring("06 some_step on compute capability 7.5: it does not run, and "
                               "docs/setup.md says that it does: it needs 102400 bytes"));
  CHECK(problems[1] == "06 some_step on compute capability 8.0, 9.0, 10.0: it launches nothing");
  CHECK_THAT(problems[2], ContainsSubstring("on compute capability 8.6, 8.9, 12.0: it does not"));
}

TEST_CASE("a step that runs where the table says that it does not is found") {
  const AskedStep step{.part = "02/hopper", .name = "some_step"};
  const std::vector<std::string> problems = problems_with(step, 0);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] ==
        "02/hopper some_step on compute capability 7.5, 8.0, 8.6, 8.9, 10.0, 12.0: "
        "it runs, and docs/setup.md says that it does not");
  CHECK(problems[1] == "02/hopper some_step on compute capability 9.0: it launches nothing");
  // What its entry says it needs counts as well; but the launcher says so, too.
  const AskedStep entry{.part = "02/hopper", .name = "some_step", .needs = "sm_90a"};
  CHECK(problems_with(entry, 0) ==
        std::vector<std::string>{
            "02/hopper some_step on compute capability 7.5, 8.0, 8.6, 8.9, 10.0, 12.0: "
            "its entry refuses it, and its launcher does not",
            problems[1]});
  CHECK(problems_of(entry, [] {
          if (compute_capability() != 90) throw Error("it needs wgmma");
        }) == std::vector{problems[1]});
}

TEST_CASE("a head size that an H100 refuses may be refused by all") {
  const AskedStep step{.part = "06", .name = "some_step", .head_size = 256};
  const std::vector<std::string> problems = problems_with(step, 1 << 20);  // may skip the test
  CHECK(problems.empty());
  CHECK(problems_with({.part = "06", .name = "some_step"}, 1 << 20).size() == 4);
}

TEST_CASE("the sizes of a program on a GPU come from its source") {
  const Folder folder;
  put(folder / "main.cpp", ".sizes = {{\"--m\", {.gpu = 512, .cpu = 2}, \"rows\"}},");
  CHECK(gpu_sizes(folder / "main.cpp").at("--m") == 512);
}

TEST_CASE("registers: as many as a block of that many threads has room for") {
  const Folder folder;
  put(folder / "record.csv",
      "source,kernel,shared,sm_75,sm_90a\n"
      "a.cu,\"tutorial::(anonymous namespace)::kernel<4, true>\",0,128/0/0,168/0/0\n"
      "b.cu,tutorial::other,0,64/0/0,\n");
  const RegisterRecord record(folder / "record.csv");
  PlannedLaunch launch{.kernel = "tutorial::(anonymous namespace)::kernel<4, true>",
                       .block = {128, 3, 1}};
  CHECK(record.problem_of(launch, 90, true) == "");
  CHECK(record.problem_of(launch, 75, true) == "");
  launch.block[1] = 4;
  CHECK(record.problem_of(launch, 75, true) == "");
  CHECK_THAT(record.problem_of(launch, 90, true),
             ContainsSubstring("takes 168 registers a thread, and a block of 512 threads"));
  CHECK(record.problem_of(launch, 86, false) == "");
  CHECK_THAT(record.problem_of(launch, 86, true), ContainsSubstring("are not in docs/results"));
  CHECK_THAT(record.problem_of({.kernel = "tutorial::other", .block = {1, 1, 1}}, 90, true),
             ContainsSubstring("common/tools/measure/registers.py records them"));
  // Of a name without its arguments the largest counts.
  launch.kernel = "kernel";
  CHECK_THAT(record.problem_of(launch, 90, true), ContainsSubstring("takes 168 registers"));
  CHECK(RegisterRecord(folder / "none.csv").problem_of(launch, 90, true) == "");
}

}  // namespace tutorial
