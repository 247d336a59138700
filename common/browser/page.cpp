// What only a page's simulator has.
#include "common/simulator/api/last_words.hpp"
#include "common/simulator/units/matrix.hpp"
#include "common/testing/program_run.hpp"

// A page starts no programs: a program of tests is never asked to be the chapter's.
std::optional<int> tutorial::run_as_program(int, char**) {
  return std::nullopt;
}

/// All of the simulator is linked here; a program has what it uses, and pays for no more.
extern "C" __attribute__((export_name("simulator_has_matrix_operations"))) void
simulator_has_matrix_operations(bool has) {
  simulator::has_matrix_operations = has;
}

/// At the end of a program of the learner's own.
extern "C" __attribute__((export_name("simulator_end_program"))) int simulator_end_program(
    int status) {
  return simulator::say_last_words(status);
}
