// What only a page's simulator has.
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "common/simulator/api/last_words.hpp"
#include "common/simulator/units/matrix.hpp"
#include "common/testing/program_run.hpp"

// A page starts no programs: a program of tests is never asked to be the chapter's.
std::optional<int> tutorial::run_as_program(int, char**) {
  return std::nullopt;
}

/// The page shows how many tests have passed while others run.
__attribute__((import_module("page"), import_name("passed"))) void tell_passed(int tests);

namespace {
class PassedListener : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.allOk()) tell_passed(++passed_);
  }

 private:
  int passed_ = 0;
};
CATCH_REGISTER_LISTENER(PassedListener)
}  // namespace

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
