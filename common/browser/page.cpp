// What only a page's simulator has.
#include "common/simulator/units/matrix.hpp"
#include "common/simulator/run/block.hpp"
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
