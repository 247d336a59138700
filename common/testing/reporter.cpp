// The Catch2 reporter of the test programs. Reports of a wrong result are tables: they are not
// wrapped. And one fault fails many checks: it is told in full once, then in a line for each size
// that it shows at.
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <catch2/reporters/catch_reporter_streaming_base.hpp>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kMostLines = 60;  // about a screen; what comes after them is counted

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What the report says that the cause is; else its first line.
std::string cause(const std::string& message) {
  const size_t at = message.find("likely:");
  return first_line(at == std::string::npos ? message : message.substr(at));
}

std::string place(const Catch::SourceLineInfo& line) {
  const std::string path = line.file;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line.line);
}

class BriefReporter : public Catch::StreamingReporterBase {
 public:
  using StreamingReporterBase::StreamingReporterBase;
  static std::string getDescription() {
    return "one report for each fault, and a line for each further size that it shows at";
  }

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    StreamingReporterBase::testCaseStarting(test);
    is_named_ = false;
  }

  void assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    if (result.isOk() || result.getResultType() == Catch::ResultWas::ExplicitSkip) return;
    if (lines_ >= kMostLines) {
      ++more_;
      return;
    }
    if (!is_named_) say("FAILED  " + currentTestCaseInfo->name);
    is_named_ = true;

    std::string sizes;  // of INFO and CAPTURE; a report among them is told below
    std::string message(result.getMessage());
    for (const Catch::MessageInfo& info : stats.infoMessages) {
      if (info.type != Catch::ResultWas::Info) continue;
      if (info.message.find('\n') != std::string::npos)
        message += (message.empty() ? "" : "\n") + info.message;
      else
        sizes += (sizes.empty() ? "" : ", ") + info.message;
    }
    if (result.hasExpression()) {
      std::string check = result.getExpressionInMacro();
      if (result.hasExpandedExpression()) check += ", which is " + result.getExpandedExpression();
      message = check + (message.empty() ? "" : "\n") + message;
    }
    const std::string at = "  " + place(result.getSourceInfo()) + "  " + sizes;
    const bool is_new = told_.insert(at.substr(0, at.find("  ", 2)) + cause(message)).second;
    const bool is_short = message.find('\n') == std::string::npos;
    if (is_short || !is_new) {
      say(at + (sizes.empty() ? "" : ": ") + first_line(message) + (is_short ? "" : " …"));
      return;
    }
    say(at);
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) say("    " + line);
  }

  void testRunEnded(const Catch::TestRunStats& stats) override {
    if (more_ > 0)
      m_stream << "and " << more_
               << (more_ == 1 ? " more failed check\n" : " more failed checks\n");
    const Catch::Counts& tests = stats.totals.testCases;
    const Catch::Counts& checks = stats.totals.assertions;
    if (tests.failed > 0)
      m_stream << tests.failed << " of " << tests.total() << " test cases failed, " << checks.failed
               << " of " << checks.total() << " checks\n";
    else if (tests.total() > 0)
      m_stream << "All tests passed: " << tests.passed << " test cases, " << checks.passed
               << " checks\n";
    m_stream << std::flush;
  }

  void noMatchingTestCases(Catch::StringRef spec) override {
    m_stream << "No test cases matched " << spec << '\n';
  }
  void reportInvalidTestSpec(Catch::StringRef spec) override {
    m_stream << "This names no tests: " << spec << '\n';
  }
  void fatalErrorEncountered(Catch::StringRef error) override {
    m_stream << "FAILED  " << (currentTestCaseInfo ? currentTestCaseInfo->name : "") << "\n  "
             << error << std::endl;
  }

 private:
  void say(const std::string& line) {
    m_stream << line << std::endl;  // what the simulator tells next, on stderr, stands below it
    ++lines_;
  }

  std::set<std::string> told_;
  bool is_named_ = false;  // the test case
  int lines_ = 0, more_ = 0;
};
CATCH_REGISTER_REPORTER("brief", BriefReporter)

}  // namespace
