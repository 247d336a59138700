// main() of every test program: says which device the tests run on, and what was skipped.
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "common/backend/backend.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"

namespace {

std::map<std::string, int> skips;  // reason → how often
std::set<std::string> skipped_steps;

// Catch2 counts the skipped test cases; this remembers why.
class SkipListener : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void assertionEnded(const Catch::AssertionStats& stats) override {
    const auto& result = stats.assertionResult;
    if (result.getResultType() == Catch::ResultWas::ExplicitSkip)
      ++skips[std::string(result.getMessage())];
  }
};
CATCH_REGISTER_LISTENER(SkipListener)

// progress.py collects these lines.
void say_what_was_skipped() {
  for (const std::string& step : skipped_steps) std::cout << "skipped step " << step << '\n';
  for (const auto& [reason, count] : skips)
    std::cout << "skipped " << count << (count == 1 ? " time: " : " times: ") << reason << '\n';
  std::cout << std::flush;
}

}  // namespace

void tutorial::note_skipped_step(const std::string& name, const std::string& reason) {
  skipped_steps.insert(name + ": " + reason);
}

int main(int argc, char** argv) {
  if (const auto status = tutorial::run_as_program(argc, argv)) return *status;
  Catch::Session session;
  if (const int status = session.applyCommandLine(argc, argv); status != 0) return status;
  Catch::ConfigData& asked = session.configData();
  // CTest lists the tests while it builds, perhaps on a machine that cannot run them.
  const bool lists = asked.showHelp || asked.libIdentify || asked.listTests || asked.listTags ||
                     asked.listReporters || asked.listListeners;
  if (lists) return session.run();

  // A reporter that the user chose may write XML to the same stream.
  const bool for_people = asked.reporterSpecifications.empty();
  if (for_people) asked.reporterSpecifications.push_back({"brief", {}, {}, {}});  // reporter.cpp
  try {
    tutorial::require_device();
    if (for_people) std::cout << "device: " << tutorial::device_description() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 2;
  }
  tutorial::set_launch_limit(60);  // seconds: no launch of the tests takes a tenth of it

  const int status = session.run();
  if (for_people) say_what_was_skipped();
  return status;
}
