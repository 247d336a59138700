// A program's exit status: one row that is not right makes it 1, wherever the row stands and
// whatever comes behind it.
#include <algorithm>
#include <catch2/generators/catch_generators.hpp>

#include "common/tests/program/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

namespace {

/// Runs steps and rows of other kinds behind them, each of which launches what its step does.
Ended run_rows(const Words& arguments, const std::vector<Step<Launcher>>& steps,
               const Step<Launcher>& stage = kRight, const Step<Launcher>& vendor = kRight) {
  return run_program(arguments, listed(steps), [&](const Options&, Table& table) {
    table.problem("C", {.flop = 1, .bytes = 8}, {6});
    const std::vector<float> values = right_values(6);
    const auto add = [&](Launched row) {
      const Expected want = {{values.begin(), values.end()}, std::vector<double>(6, 1e-6)};
      if (row) table.add(row, compare(row.output, want, row.layout));
    };
    const auto of = [](const Step<Launcher>& step, const char* name, bool is_stage) {
      return Row{.name = name,
                 .launch = [launch = step.launch](float* C) { launch(C, 6); },
                 .is_stage = is_stage};
    };
    add(table.launch(of(stage, "a stage", true)));
    for (const auto& step : steps)
      add(table.launch(step, [](auto run, float* C) { return run(C, 6); }));
    add(table.launch(of(kRight, "beside them", false)));
    add(table.launch_vendor(of(vendor, "of a vendor", false)));
  });
}

/// A name for the same step, as no list has one twice.
Step<Launcher> named(Step<Launcher> step, const char* name) {
  step.name = name;
  return step;
}

}  // namespace

TEST_CASE("A step that is not right makes the program fail, in every place", "[chapter]") {
  const Step<Launcher> bad = GENERATE(kOffByOne, kSilent, kFails);
  const size_t place = GENERATE(0, 1, 2, 3, 4);
  // Behind it stand a step that cannot run here, one that refuses and right ones.
  std::vector<Step<Launcher>> steps = {kRight, kElsewhere, kRefuses, kAlsoRight};
  steps.insert(steps.begin() + static_cast<long>(place), named(bad, "bad"));
  const Ended ended = run_rows({}, steps);
  INFO(ended.out);
  CHECK(ended.status == 1);
  const bool failed = bad.launch == kFails.launch;
  CHECK_THAT(ended.out, ContainsSubstring(failed ? "\n1 failed: the table says where\n"
                                                 : "\n1 wrong: the report stands above"));
  CHECK_THAT(line_with(ended.out, std::to_string(place + 1) + " bad"),
             ContainsSubstring(failed ? "FAILED: " : "WRONG"));
  CHECK_THAT(line_with(ended.out, "skipped: needs "), ContainsSubstring("elsewhere"));
  CHECK_THAT(line_with(ended.out, "refused: this"), ContainsSubstring("refuses"));
  // Chosen with --kernel it counts as well, and not chosen it does not.
  CHECK(run_rows({"--kernel", "bad,also_right"}, steps).status == 1);
  CHECK(run_rows({"--kernel", "right,also_right"}, steps).status == 0);
}

TEST_CASE("A stage or a vendor's row that is not right makes the program fail", "[chapter]") {
  const Step<Launcher> bad = GENERATE(kOffByOne, kSilent, kFails);
  const std::vector<Step<Launcher>> steps = {kRight, kElsewhere};
  CHECK(run_rows({}, steps).status == 0);
  const Ended stage = run_rows({}, steps, bad, kRight), vendor = run_rows({}, steps, kRight, bad);
  INFO(stage.out << vendor.out);
  CHECK((stage.status == 1 && vendor.status == 1));
  CHECK_THAT(line_with(stage.out, "    a stage"), !ContainsSubstring("ok"));
  CHECK_THAT(line_with(vendor.out, "  of a vendor"), !ContainsSubstring("ok"));
  CHECK_THAT(line_with(vendor.out, "1 right"), ContainsSubstring("ok"));
}

TEST_CASE("Rows that are wrong and rows that failed are counted each", "[chapter]") {
  const Ended ended =
      run_rows({}, {kOffByOne, kFails, kSilent, named(kFails, "also_fails"), kRight}, kSilent);
  INFO(ended.out);
  CHECK(ended.status == 1);
  CHECK_THAT(ended.out, ContainsSubstring("\n3 wrong: the report stands above the table\n"
                                          "2 failed: the table says where\n"));
}
