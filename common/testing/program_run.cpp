#include "common/testing/program_run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "common/compare/compare.hpp"
#include "common/program/row.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/printed_table.hpp"
#include "common/testing/testing.hpp"

/// main() of the chapter's program, in the chapter's test program (common/cmake/Tutorial.cmake).
extern "C" [[gnu::weak]] int program_main(int argc, char** argv);

namespace tutorial {
namespace {

const std::string AS_PROGRAM = "--as-program";  // the first word for a test program

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
    rows.push_back({at("step"), at("kind"), at("check"), cost, {}});
    for (size_t i = 0; i < heads.size(); ++i) rows.back().fields[heads[i]] = fields.at(i);
  }
  return rows;
}

std::string said(const ProgramRun& run) {
  return run.command + "\n" + run.out + run.err;
}

/// Could the row not be launched here, and did it say so?
bool could_not_run(const ProgramRun& run, const ProgramRun::Row& row) {
  const bool is_skipped = run.out.find("skipped: needs", run.out.find(row.name)) != run.out.npos;
  return (row.check == "skipped" && is_skipped) ||
         (row.check == "refused" && is_smaller_than_h100());
}

int64_t count_of(const std::string& words, const std::string& text) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(words, at)) != text.npos; at += words.size()) ++count;
  return count;
}

}  // namespace

double ProgramRun::Row::number(const std::string& head) const {
  const auto field = fields.find(head);
  if (field == fields.end()) FAIL("--csv has no column " << head);
  return field->second.empty() ? std::numeric_limits<double>::quiet_NaN()
                               : std::stod(field->second);
}

const ProgramRun::Row& ProgramRun::row(const std::string& name) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) FAIL("no row " << name << " in\n" << said(*this));
  return *found;
}

ProgramRun run_as_it_is(const std::string& program, const Words& arguments) {
  const Folder scratch;
  const auto quoted = [](const std::string& word) { return " '" + word + "'"; };
  ProgramRun run;
  run.command = quoted(program);
  for (const std::string& word : arguments) run.command += quoted(word);
  const std::string all =
      run.command + " </dev/null >" + quoted(scratch / "out") + " 2>" + quoted(scratch / "err");
  const int ended = std::system(all.c_str());
  if (WIFEXITED(ended)) run.status = WEXITSTATUS(ended);
  run.out = contents(scratch / "out");
  run.err = contents(scratch / "err");
  return run;
}

ProgramRun run_command(const std::string& program, const Words& arguments) {
  const Folder scratch;
  ProgramRun run =
      run_as_it_is(program, arguments + Words{"--repeats", "0", "--csv", scratch / "csv"});
  run.rows = rows_in(contents(scratch / "csv"));
  return run;
}

namespace {

/// Of a mutant (mutate.py) the program that its tests hold is tried, and not the shipped one.
bool is_of_mutant() {
  return std::getenv("TUTORIAL_MUTANT") != nullptr;
}

}  // namespace

ProgramRun run_shipped(const std::string& program, const Words& arguments) {
  return is_of_mutant() ? run_in_tests("", arguments, {}, 0) : run_command(program, arguments);
}

ProgramRun run_in_tests(const std::string& tests, const Words& arguments, const Spoil& spoil,
                        double affordable) {
  std::ostringstream manner;
  manner << affordable << ' ' << spoil.first << ' ' << spoil.count << ' ' << spoil.by << ' '
         << spoil.row;
  const std::string program =
      is_of_mutant() ? std::filesystem::read_symlink("/proc/self/exe").string() : tests;
  ProgramRun run = run_command(program, Words{AS_PROGRAM, manner.str()} + arguments);
  run.spoiled = spoil.row;
  return run;
}

std::optional<int> run_as_program(int argc, char** argv) {
  if (argc < 3 || argv[1] != AS_PROGRAM) return {};
  double affordable = 0;
  Spoil spoil;
  std::istringstream manner(argv[2]);
  manner >> affordable >> spoil.first >> spoil.count >> spoil.by >> std::ws;
  std::getline(manner, spoil.row);  // which may have blanks
  if (affordable > 0) most_affordable = affordable;
  spoiler = [spoil](const std::string& row, int64_t before, std::span<float> values) {
    if (spoil.row != row && spoil.row != EVERY_ROW) return;
    const int64_t first = spoil.first - before;  // in these values
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i)
      if (i >= first && i < first + spoil.count) values[i] += spoil.by;
  };
  argv[2] = argv[0];
  return program_main(argc - 2, argv + 2);
}

void check_all_right(const ProgramRun& run, const Words& names, Cost least) {
  INFO(said(run));
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  Words got;
  for (const ProgramRun::Row& row : run.rows) {
    CAPTURE(row.name);
    got.push_back(row.name);
    CHECK((row.check == "ok" || could_not_run(run, row)));
    if (row.kind == "stage") continue;
    CHECK(row.cost.flop == least.flop);
    CHECK(row.cost.bytes == least.bytes);
  }
  CHECK(got == names);
  check_printed_table(run);
}

void check_wrong(const ProgramRun& run, const Words& words) {
  const std::string& name = run.spoiled;
  INFO(said(run));
  CHECK(run.status == 1);
  const std::string step = run.row(name).kind == "vendor" ? " · " : " · step ";
  CHECK_THAT(run.out, ContainsSubstring(step + name + " · ") && ContainsSubstring(" · WRONG\n"));
  CHECK_THAT(run.out, ContainsSubstring("1 wrong: the report stands above the table"));
  for (const std::string& word : words) CHECK_THAT(run.out, ContainsSubstring(word));
  for (const ProgramRun::Row& row : run.rows) {
    CAPTURE(row.name);
    CHECK((row.check == (row.name == name ? "WRONG" : "ok") ||
           (row.name != name && could_not_run(run, row))));
  }
}

void check_every_row_can_fail(const std::string& tests, const Words& arguments) {
  const auto wrong_in = [&](const std::string& row) {
    return run_in_tests(tests, arguments, {.row = row, .first = 0, .count = 2, .by = 1}, 0);
  };
  const ProgramRun all = wrong_in(EVERY_ROW);
  INFO(said(all));
  CHECK(all.status == 1);
  Words wrong;
  for (const ProgramRun::Row& row : all.rows) {
    if (could_not_run(all, row)) continue;
    CAPTURE(row.name, row.number("max_error"));
    CHECK(row.check == "WRONG");
    wrong.push_back(row.name);
    // What is compared bit by bit has no error.
    const bool has_error = row.kind != "stage" || row.number("max_error") > 0;
    CHECK((!has_error || std::abs(row.number("max_error") - 1) <= row.number("bound") + 1e-5));
  }
  const int64_t count = static_cast<int64_t>(wrong.size());
  CHECK(count_of(" · WRONG\n", all.out) == count);
  CHECK_THAT(all.out,
             ContainsSubstring("\n" + std::to_string(count) + " wrong: the report stands"));
  check_printed_table(all);
  if (wrong.empty()) return;  // the sentence above was not found
  for (const size_t one : {size_t{0}, wrong.size() / 2, wrong.size() - 1})
    check_wrong(wrong_in(wrong[one]), {});
}

void check_counted(const ProgramRun::Row& row, const std::map<std::string, double>& counts) {
  if (device_has_clock()) return;
  for (const auto& [head, count] : counts) {
    INFO(row.name << ": " << head);
    CHECK(row.number(head) == count);
  }
}

int64_t row_not_compared(int64_t total, int64_t count) {
  const std::vector<int64_t> rows = sample_rows(total, count, 1);
  for (int64_t row = 0; row < total; ++row)
    if (!std::binary_search(rows.begin(), rows.end(), row)) return row;
  FAIL("all " << total << " rows are compared");
  return -1;
}

void check_large_product(const std::string& tests, const std::string& step) {
  const Words sizes = {"--m", "110", "--n", "20", "--k", "10", "--kernel", step};
  const auto run_with = [&](const Spoil& spoil) {
    return run_in_tests(tests, sizes, spoil, 110 * 20 * 10 - 1);
  };
  const auto wrong_from = [&](int64_t row, int64_t col, int64_t count) {
    return run_with({.row = step, .first = row * 20 + col, .count = count, .by = 0.5f});
  };
  const int64_t other = row_not_compared(110, 16);
  const Words by_sums = {"1 of 110 rows are wrong (Freivalds' check",
                         "the worst is row " + std::to_string(other) + " of C"};
  SECTION("which is right") {
    check_all_right(run_with({}), {step}, {.flop = 4.4e4, .bytes = 1.4e4});
  }
  SECTION("one element of the last row, which is always compared") {
    check_wrong(wrong_from(109, 19, 1),
                {"1 of 320 checked elements (16 of 110 rows)", "C[109][19]"});
  }
  SECTION("one element, in a row that is not compared") {
    check_wrong(wrong_from(other, 7, 1), by_sums);
  }
  SECTION("most of a row that is not compared: an odd number, so that no signs cancel them") {
    check_wrong(wrong_from(other, 0, 19), by_sums);
  }
}

}  // namespace tutorial
