// main() of every test program: says which device the tests run on, and what was skipped.
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include "common/backend/backend.hpp"

namespace {

std::map<std::string, int> skips;  // reason → how often

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

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int status = session.applyCommandLine(argc, argv); status != 0) return status;
  const Catch::ConfigData& asked = session.configData();
  // CTest lists the tests while it builds, perhaps on a machine that cannot run them.
  const bool lists = asked.showHelp || asked.libIdentify || asked.listTests || asked.listTags ||
                     asked.listReporters || asked.listListeners;
  if (lists) return session.run();

  // A reporter that the user chose may write XML to the same stream.
  const bool for_people = asked.reporterSpecifications.empty();
  try {
    tutorial::require_device();
    if (for_people) std::cout << "device: " << tutorial::device_description() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 2;
  }

  const int status = session.run();
  int total = 0;
  for (const auto& [reason, count] : skips) total += count;
  if (for_people && total > 0) {
    std::cout << "skipped " << total << (total == 1 ? " time:" : " times:");
    const char* separator = " ";
    for (const auto& [reason, count] : skips) {
      std::cout << separator << reason << " (" << count << ")";
      separator = "; ";
    }
    std::cout << std::endl;
  }
  return status;
}
