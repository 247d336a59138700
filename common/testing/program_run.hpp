// A chapter's program, run as a user runs it: a command line in; an exit status, two streams and
// the rows of the table out.
#pragma once

#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"
#include "common/measure/roofline.hpp"

namespace tutorial {

using Words = std::vector<std::string>;
using Catch::Matchers::ContainsSubstring;

struct ProgramRun {
  struct Row {
    std::string name, kind, check;  // as in the columns of --csv
    Cost cost;
    std::map<std::string, std::string> fields;  // all of them, by their heads
    /// The number in a column of --csv; NaN where it says nothing.
    double number(const std::string& head) const;
  };
  std::string command;
  int status = -1;      // -1: it did not end by itself
  std::string spoiled;  // the row that is wrong
  std::string out, err;
  std::vector<Row> rows;

  /// The row of this name; the test ends here when there is none.
  const Row& row(const std::string& name) const;
};

inline const std::string EVERY_ROW = "*";

/// What is made wrong, behind the program's back, of what a row wrote: `count` elements from number
/// `first` on, by `by`. Those of another output (Launched::fetch) come behind the first one's.
struct Spoil {
  std::string row = {};  // or EVERY_ROW
  int64_t first = 0, count = 0;
  float by = 0;
};

/// Runs a program, which must end by itself.
ProgramRun run_as_it_is(const std::string& program, const Words& arguments);
/// The same of one that prints a table: it checks, and times nothing.
ProgramRun run_command(const std::string& program, const Words& arguments);
/// The same of a chapter's program; of a mutant's tests the one that they hold.
ProgramRun run_shipped(const std::string& program, const Words& arguments);
/// Runs the chapter's program as `tests`, its test program, does, which holds it as a function:
/// with something spoiled, and taking all that needs more than `affordable` steps of a reference
/// for large (compare.hpp); 0: what the program takes for large.
ProgramRun run_in_tests(const std::string& tests, const Words& arguments, const Spoil& spoil,
                        double affordable);
/// Its other side: where main() of a test program was called by run_in_tests(), the program's exit
/// status.
std::optional<int> run_as_program(int argc, char** argv);

#ifdef TUTORIAL_PROGRAM  // in a chapter's tests
/// The chapter's program.
inline ProgramRun run_program(const Words& arguments) {
  return run_shipped(TUTORIAL_PROGRAM, arguments);
}
/// The same, and some of what a row wrote is wrong.
inline ProgramRun run_spoiled(const Words& arguments, const Spoil& spoil) {
  return run_in_tests(TUTORIAL_TESTS, arguments, spoil, 0);
}
/// The same of a problem that is taken for a large one.
inline ProgramRun run_as_large(const Words& arguments, double affordable, const Spoil& spoil = {}) {
  return run_in_tests(TUTORIAL_TESTS, arguments, spoil, affordable);
}
#endif

/// The program found all rows right, which have these names and come in this order; or it skipped
/// those that cannot run here. `least` is the least work of all but the stages. The table that it
/// printed says the same as --csv.
void check_all_right(const ProgramRun& run, const Words& names, Cost least);
/// Of all rows the spoiled one alone is wrong; the program says so in a report that has these
/// words.
void check_wrong(const ProgramRun& run, const Words& words);

/// In a TEST_CASE, for the program that holds `tests`: whichever row is wrong, wherever it stands
/// and whatever comes behind it, the program fails, and says by how much. The first two elements
/// that a row hands over are made wrong, by 1: of all rows, and of the first, the middle and the
/// last one alone. (The first one of a stage may be a placeholder.)
void check_every_row_can_fail(const std::string& tests, const Words& arguments);

/// What a row says on the CPU, where it is counted, in these columns of --csv.
void check_counted(const ProgramRun::Row& row, const std::map<std::string, double>& counts);

/// A row that a program of seed 1 leaves out when it compares `count` rows of `total`.
int64_t row_not_compared(int64_t total, int64_t count);

/// In a TEST_CASE, for a program of C = A·B with --m, --n and --k that holds `tests`: `step` does a
/// product that is taken for a large one. Then 16 rows are compared, and all rows by their sums.
void check_large_product(const std::string& tests, const std::string& step);

template <class Launcher>
Words names_of(const std::vector<Step<Launcher>>& steps) {
  Words names;
  for (const auto& step : steps) names.push_back(step.name);
  return names;
}
inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace tutorial
