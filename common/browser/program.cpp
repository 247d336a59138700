// What a page's programs do without: it shows by itself that something runs, and has no device that
// could be timed.
#include <chrono>

#include "common/measure/roofline.hpp"
#include "common/measure/timing.hpp"
#include "common/program/progress.hpp"

namespace tutorial {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Progress::Watch {
  double start;
};

ProgressScreen ProgressScreen::usual() {
  return {.out = nullptr, .is_terminal = false};
}
Progress::Progress(const Underway&, bool&, const ProgressScreen&)
    : watch_(std::make_unique<Watch>(now())) {}
Progress::~Progress() = default;
double Progress::stop() {
  return now() - watch_->start;
}
void Progress::tell(const std::string&) {}

Timing time_launch(const std::function<void()>&, int, const std::function<void()>&) {
  return {};
}
const Ceiling& measured_ceiling(Arithmetic) {
  static const Ceiling none{};
  return none;
}

}  // namespace tutorial
