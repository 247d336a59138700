// What a program says on stderr while a kernel runs for long, which kernels do in the simulator:
// first how long it will take, judged by what is done so far, then how far it is, then that it
// ended.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "common/backend/backend.hpp"

namespace tutorial {

/// "8 s", "70 s", "12 min", "3.5 h", "12 days".
std::string duration_text(double seconds);

/// The row that runs, and what is known of those after it.
struct Underway {
  std::string name;
  int steps_after = 0;         // steps that come after it
  int steps_done = 0;          // and that were before it,
  double seconds_of_done = 0;  // which took this long
};

/// Where to say it, and when; the default is a program's.
struct ProgressScreen {
  std::ostream* out;
  bool is_terminal;      // there one line is overwritten again and again
  double patience = 2;   // seconds until anything is said
  double long_run = 15;  // seconds that must be left for it to be worth a line
  double between = 0.5;  // seconds from one look to the next
  double reminder = 60;  // seconds from one line to the next where they stay
  std::function<LaunchProgress()> ask = launch_progress;
  static ProgressScreen usual();
};

/// Watches a row's kernels from its construction on. Says nothing of short ones.
class Progress {
 public:
  /// `is_long`: was anything said in this run? Its first words are an estimate.
  Progress(const Underway& row, bool& is_long,
           const ProgressScreen& screen = ProgressScreen::usual());
  ~Progress();
  /// The kernels are done: takes the overwritten line away. Gives the seconds that they took.
  double stop();
  /// Says what became of the row ("ok"), in a long run.
  void tell(const std::string& verdict);

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace tutorial
