// A page starts no programs: a test program is never asked to be the chapter's.
#include "common/testing/program_run.hpp"

std::optional<int> tutorial::run_as_program(int, char**) {
  return std::nullopt;
}
