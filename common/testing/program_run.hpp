// A chapter's program, run as a user runs it: a command line in; an exit status, two streams and
// the rows of the table out.
#pragma once

#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
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
  };
  std::string command;
  int status = -1;  // -1: it did not end by itself
  std::string out, err;
  std::vector<Row> rows;

  /// The row of this name; the test ends here when there is none.
  const Row& row(const std::string& name) const;
};

/// Which elements of a stand-in's result are wrong (spoil.hpp), and by how much.
struct Spoil {
  int64_t first = 0, count = 0;
  float by = 0;
};

/// Runs a program, which must end by itself. It checks, and times nothing.
ProgramRun run_command(const std::string& program, const Words& arguments, Spoil spoil = {});

#ifdef TUTORIAL_PROGRAM  // in a chapter's tests
/// The chapter's program.
inline ProgramRun run_program(const Words& arguments) {
  return run_command(TUTORIAL_PROGRAM, arguments);
}
/// The same, but some of its steps are stand-ins (tests/stand_in.cpp). They have no kernel: so they
/// can do large problems on any backend; and they do them wrong when they are told to.
inline ProgramRun run_stand_in(const Words& arguments, Spoil spoil = {}) {
  return run_command(TUTORIAL_STAND_IN, arguments, spoil);
}
#endif

/// The program found all rows right, which have these names and come in this order; or it skipped
/// those that cannot run here. `least` is the least work of all but the stages.
void check_all_right(const ProgramRun& run, const Words& names, Cost least);
/// Of all rows `name` alone is wrong; the program says so in a report that has these words.
void check_wrong(const ProgramRun& run, const std::string& name, const Words& words);

/// A row that a program of seed 1 leaves out when it compares `count` rows of `total`.
int64_t row_not_compared(int64_t total, int64_t count);

/// In a TEST_CASE, for a program of C = A·B with --m, --n and --k: `step` of its stand-in does a
/// product beyond 2·10^8 multiplications. Then 16 rows are compared, and all rows by their sums:
/// the one finds an error that is large for an element, the other one that is large for a row of
/// 2000.
void check_large_product(const std::string& stand_in, const std::string& step);

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
