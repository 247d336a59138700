#include "common/program/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string_view>
#include <thread>

#include "common/data/text.hpp"

namespace tutorial {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string steps_text(int count) {
  return count == 1 ? "the step after it" : "the " + std::to_string(count) + " steps after it";
}

/// Of the steps after this one, when it takes so long itself.
double seconds_after(const Underway& row, double seconds) {
  return row.steps_after * (row.seconds_of_done + seconds) / (row.steps_done + 1);
}

/// `about`: "about", or "at least".
std::string estimate_text(const Underway& row, const std::string& about, double seconds) {
  std::string text = "simulating " + row.name + " takes " + about + " " + duration_text(seconds);
  if (row.steps_after == 0) return text + "; smaller sizes are quicker";
  return text + "; " + steps_text(row.steps_after) + ", if they are like it, " +
         duration_text(seconds_after(row, seconds)) +
         " more. Smaller sizes are quicker, and --kernel NAME runs one step";
}

}  // namespace

std::string duration_text(double seconds) {
  const auto rounded = [](double value, const char* unit) {
    return formatted(value < 9.95 ? "%.1f " : "%.0f ", value) + unit;
  };
  if (seconds < 99.5) return formatted("%.0f s", seconds);
  if (seconds < 99.5 * 60) return rounded(seconds / 60, "min");
  if (seconds < 99.5 * 3600) return rounded(seconds / 3600, "h");
  return rounded(seconds / 86400, "days");
}

ProgressScreen ProgressScreen::usual() {
  const char* terminal = std::getenv("TERM");
  return {.out = &std::cerr,
          .is_terminal = isatty(STDERR_FILENO) != 0 &&
                         std::string_view(terminal ? terminal : "dumb") != "dumb"};
}

struct Progress::Watch {
  const Underway row;
  bool& is_long;
  const ProgressScreen screen;
  const Clock::time_point start = Clock::now();
  const int64_t launches_before = screen.ask().launches;
  Clock::time_point launch_start = start, last_line = start;
  int64_t launch = 0;            // the one that was looked at last
  bool reminded_before = false;  // a reminder came before anybody could tell how long this takes
  const char* clear = "";        // takes the overwritten line away
  std::mutex mutex;
  std::condition_variable end;
  bool is_over = false;
  double seconds = 0;  // that the kernels took
  std::thread thread;

  Watch(const Underway& row, bool& is_long, const ProgressScreen& screen)
      : row(row), is_long(is_long), screen(screen) {
    thread = std::thread([this] {
      std::unique_lock lock(mutex);
      double wait = this->screen.patience;
      while (!end.wait_for(lock, std::chrono::duration<double>(wait), [&] { return is_over; })) {
        look();
        wait = this->screen.between;
      }
    });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
    }
    if (!thread.joinable()) return;
    seconds = seconds_since(start);
    end.notify_all();
    thread.join();
    *screen.out << clear << std::flush;
    clear = "";
  }

  void say(const std::string& line) {
    *screen.out << clear << line << std::endl;
    clear = "";
    last_line = Clock::now();
  }

  void look() {
    const LaunchProgress at = screen.ask();
    const int64_t number = at.launches - launches_before;
    if (number != launch) {
      launch = number;
      launch_start = number == 1 ? start : Clock::now();
    }
    if (at.blocks == 0) return;
    std::string line = row.name + ": " +
                       (number > 1 ? "launch " + std::to_string(number) + ", " : std::string()) +
                       count_text(at.done) + " of " + count_text(at.blocks) + " blocks";
    if (at.done > 0) {
      const double part = static_cast<double>(at.done) / static_cast<double>(at.blocks);
      const double left = seconds_since(launch_start) * (1 / part - 1);
      line += formatted(", %.0f %%", 100 * part) + ", about " + duration_text(left) + " left";
      if ((!is_long || reminded_before) && left + seconds_after(row, left) > screen.long_run) {
        is_long = true;
        reminded_before = false;
        // Of a row of several launches nobody knows how many come.
        say(estimate_text(row, number > 1 ? "at least" : "about", seconds_since(start) + left));
      }
    } else {
      line += ", " + duration_text(seconds_since(start)) + " so far";  // too early to tell more
    }
    if (screen.is_terminal) {
      *screen.out << "\r\033[K" << line << std::flush;
      clear = "\r\033[K";
    } else if (seconds_since(last_line) >= screen.reminder) {
      reminded_before = reminded_before || !is_long;
      is_long = true;
      say(line);
    }
  }
};

Progress::Progress(const Underway& row, bool& is_long, const ProgressScreen& screen)
    : watch_(std::make_unique<Watch>(row, is_long, screen)) {}

Progress::~Progress() {
  watch_->stop();
}

double Progress::stop() {
  watch_->stop();
  return watch_->seconds;
}

void Progress::tell(const std::string& verdict) {
  if (!watch_->is_long) return;
  const Underway& row = watch_->row;
  std::string line = row.name + ": " + verdict + " after " + duration_text(watch_->seconds);
  if (row.steps_after > 0)
    line += "; " + steps_text(row.steps_after) + " may take " +
            duration_text(seconds_after(row, watch_->seconds));
  watch_->say(line);
}

}  // namespace tutorial
