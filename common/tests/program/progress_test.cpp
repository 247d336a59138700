// What is said while a kernel runs for long. The launch is a stand-in that stays where it is.
#include "common/program/progress.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <sstream>
#include <thread>

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

namespace {

const Underway kTiled = {
    .name = "tiled", .steps_after = 2, .steps_done = 1, .seconds_of_done = 1e6};

/// A row that runs for a fifth of a second, or not at all, with a quarter of its first blocks done,
/// from the first look on or after some.
class LongRow {
 public:
  explicit LongRow(bool is_terminal = false, int64_t launches = 1, int64_t done = 1000,
                   int64_t blocks = 4000, int looks_before = 0)
      : screen_{.out = &out_,
                .is_terminal = is_terminal,
                .patience = 0.02,
                .long_run = 0.01,
                .between = 0.01,
                .reminder = 0.05,
                .ask = [this, launches, done, blocks, looks_before]() -> LaunchProgress {
                  const int looks = asked_++;
                  if (looks == 0) return {.launches = 7};
                  if (looks <= looks_before) return {.launches = 7 + launches, .blocks = blocks};
                  return {.launches = 7 + launches, .done = done, .blocks = blocks};
                }} {}
  double run(const Underway& row, double seconds = 0.2) {
    Progress progress(row, is_long, screen_);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double took = progress.stop();
    CHECK(took >= seconds);
    progress.tell("ok");
    return took;
  }
  std::string said() const { return out_.str(); }
  bool is_long = false;

 private:
  std::ostringstream out_;
  std::atomic<int> asked_ = 0;
  ProgressScreen screen_;
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("nothing is said of a short row") {
  LongRow row;
  row.run(kTiled, 0);
  CHECK(row.said() == "");
  CHECK(!row.is_long);
}

TEST_CASE("a long row begins with an estimate from what is done, and ends in a line") {
  LongRow row;
  const double seconds = row.run(kTiled);
  CHECK(row.is_long);
  CHECK_THAT(row.said(),
             ContainsSubstring("simulating tiled takes about 0 s; the 2 steps after it, if "
                               "they are like it, 12 days more"));
  CHECK_THAT(row.said(), ContainsSubstring("tiled: 1000 of 4000 blocks, 25 %, about "));
  CHECK_THAT(row.said(),
             ContainsSubstring("tiled: ok after 0 s; the 2 steps after it may take 12 days\n"));
  CHECK(count(row.said(), "\r") == 0);
  CHECK(static_cast<double>(count(row.said(), "25 %")) <= seconds / 0.05);  // not at every look

  row.run({.name = "last", .steps_done = 2, .seconds_of_done = 0.2});
  CHECK(count(row.said(), "simulating ") == 1);
  CHECK_THAT(row.said(), ContainsSubstring("last: ok after 0 s\n"));
}

TEST_CASE("on a terminal one line is overwritten, and taken away") {
  LongRow row(true);
  row.run(kTiled);
  const std::string clear = "\r\033[K", said = row.said();
  CHECK(count(said, clear + "tiled: 1000 of 4000 blocks, 25 %, about ") > 2);
  CHECK(said.rfind(clear) < said.find("tiled: ok after"));
  CHECK(said.rfind("25 %") < said.rfind(clear));
}

TEST_CASE("of a row's later launches nobody knows how many come") {
  LongRow row(false, 3);
  row.run({.name = "pipeline"});
  CHECK_THAT(row.said(), ContainsSubstring("simulating pipeline takes at least "));
  CHECK_THAT(row.said(), ContainsSubstring("pipeline: launch 3, 1000 of 4000 blocks"));
}

TEST_CASE("before its first block is done nobody knows how long a row takes") {
  LongRow row(true, 1, 0);
  row.run(kTiled);
  CHECK_THAT(row.said(), ContainsSubstring("tiled: 0 of 4000 blocks, 0 s so far"));
  CHECK_THAT(row.said(), !ContainsSubstring("simulating") && !ContainsSubstring("left"));
}

TEST_CASE("the estimate comes behind a reminder, too, and once") {
  LongRow row(false, 1, 1000, 4000, 12);  // looks come in 0.01 s, a reminder in 0.05
  row.run(kTiled, 0.6);
  const std::string said = row.said();
  CHECK(said.find(" so far") < said.find("simulating tiled takes"));
  CHECK(count(said, "simulating tiled takes") == 1);
}

TEST_CASE("before a row's first launch no blocks are counted") {
  LongRow row(false, 0, 0, 0);
  row.run(kTiled);
  CHECK_THAT(row.said(), !ContainsSubstring("blocks"));
}

TEST_CASE("durations are rounded") {
  CHECK(duration_text(8.4) == "8 s");
  CHECK(duration_text(70) == "70 s");
  CHECK(duration_text(125) == "2.1 min");
  CHECK(duration_text(700) == "12 min");
  CHECK(duration_text(7200) == "2.0 h");
  CHECK(duration_text(1e6) == "12 days");
}
