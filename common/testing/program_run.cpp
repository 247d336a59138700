#include "common/testing/program_run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <sstream>

#include "common/compare/compare.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/testing.hpp"

namespace tutorial {
namespace {

/// The fields of a line of --csv; some have quotes around them.
Words fields_of(const std::string& line) {
  Words fields(1);
  bool quoted = false;
  for (const char c : line)
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

std::vector<ProgramRun::Row> rows_in(const std::string& csv) {
  std::vector<ProgramRun::Row> rows;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const Words heads = fields_of(line);
  while (std::getline(lines, line)) {
    const Words fields = fields_of(line);
    const auto at = [&](const char* head) {
      const auto found = std::find(heads.begin(), heads.end(), head);
      REQUIRE(found != heads.end());
      return fields.at(static_cast<size_t>(found - heads.begin()));
    };
    if (at("kind") == "kernel") continue;  // what a kernel takes of a GPU
    const Cost cost = {.flop = std::stod(at("flop")), .bytes = std::stod(at("bytes"))};
    rows.push_back({at("step"), at("kind"), at("check"), cost});
  }
  return rows;
}

std::string said(const ProgramRun& run) {
  return run.command + "\n" + run.out + run.err;
}

}  // namespace

const ProgramRun::Row& ProgramRun::row(const std::string& name) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) FAIL("no row " << name << " in\n" << said(*this));
  return *found;
}

ProgramRun run_command(const std::string& program, const Words& arguments, Spoil spoil) {
  const Folder scratch;
  const auto quoted = [](const std::string& word) { return " '" + word + "'"; };
  ProgramRun run;
  if (spoil.count > 0)
    run.command = "SPOIL='" + std::to_string(spoil.first) + " " + std::to_string(spoil.count) +
                  " " + std::to_string(spoil.by) + "'";
  run.command += quoted(program);
  for (const std::string& word : arguments) run.command += quoted(word);
  const std::string all = run.command + " --repeats 0 --csv" + quoted(scratch / "csv") +
                          " </dev/null >" + quoted(scratch / "out") + " 2>" +
                          quoted(scratch / "err");
  const int ended = std::system(all.c_str());
  if (WIFEXITED(ended)) run.status = WEXITSTATUS(ended);
  run.out = contents(scratch / "out");
  run.err = contents(scratch / "err");
  run.rows = rows_in(contents(scratch / "csv"));
  return run;
}

void check_all_right(const ProgramRun& run, const Words& names, Cost least) {
  INFO(said(run));
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  Words got;
  for (const ProgramRun::Row& row : run.rows) {
    CAPTURE(row.name);
    got.push_back(row.name);
    const bool is_skipped = run.out.find("skipped: needs", run.out.find(row.name)) != run.out.npos;
    CHECK((row.check == "ok" || (row.check == "skipped" && is_skipped) ||
           (row.check == "refused" && is_smaller_than_h100())));
    if (row.kind == "stage") continue;
    CHECK(row.cost.flop == least.flop);
    CHECK(row.cost.bytes == least.bytes);
  }
  CHECK(got == names);
}

void check_wrong(const ProgramRun& run, const std::string& name, const Words& words) {
  INFO(said(run));
  CHECK(run.status == 1);
  CHECK_THAT(run.out, ContainsSubstring("step " + name + " · ") && ContainsSubstring(" · WRONG\n"));
  CHECK_THAT(run.out, ContainsSubstring("1 wrong: the report stands above the table"));
  for (const std::string& word : words) CHECK_THAT(run.out, ContainsSubstring(word));
  for (const ProgramRun::Row& row : run.rows) {
    CAPTURE(row.name);
    CHECK(row.check == (row.name == name ? "WRONG" : "ok"));
  }
}

int64_t row_not_compared(int64_t total, int64_t count) {
  const std::vector<int64_t> rows = sample_rows(total, count, 1);
  for (int64_t row = 0; row < total; ++row)
    if (!std::binary_search(rows.begin(), rows.end(), row)) return row;
  FAIL("all " << total << " rows are compared");
  return -1;
}

void check_large_product(const std::string& stand_in, const std::string& step) {
  const Words large = {"--m", "110", "--n", "2000", "--k", "1000", "--kernel", step};
  const auto wrong_from = [&](int64_t row, int64_t col, int64_t count, float by) {
    return run_command(stand_in, large, {.first = row * 2000 + col, .count = count, .by = by});
  };
  const int64_t other = row_not_compared(110, 16);
  const Words by_sums = {"1 of 110 rows are wrong (Freivalds' check",
                         "the worst is row " + std::to_string(other) + " of C"};
  SECTION("which is right") {
    const ProgramRun run = run_command(stand_in, large);
    check_all_right(run, {step}, {.flop = 4.4e8, .bytes = 9.32e6});
    CHECK_THAT(run.out, ContainsSubstring("440 MFLOP, at least 9.32 MB, 47.2 FLOP/byte"));
  }
  SECTION("a small error in the last row, which is always compared") {
    check_wrong(wrong_from(109, 1999, 1, 0.5f), step,
                {"1 of 32000 checked elements (16 of 110 rows)", "C[109][1999]"});
  }
  SECTION("one element, in a row that is not compared") {
    check_wrong(wrong_from(other, 7, 1, 100), step, by_sums);
  }
  SECTION("a whole row that is not compared") {
    check_wrong(wrong_from(other, 0, 2000, 100), step, by_sums);
  }
}

}  // namespace tutorial
