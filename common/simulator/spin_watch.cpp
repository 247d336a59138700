#include "common/simulator/spin_watch.hpp"

#include <ctime>

namespace simulator {
namespace {

constexpr size_t kFewAddresses = 4;
constexpr uint64_t kBusy = 1000;  // accesses between two looks; a loop that spins makes far more
std::atomic<double> seconds_of_patience = 20;

double processor_time(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void SpinWatch::start_again(const Progress& progress, double now) {
  turns_ = progress.turns;
  since_ = now;
  addresses_.clear();
}

void SpinWatch::look(Progress& progress, pthread_t worker) {
  const double now = processor_time(worker);
  const uint64_t accesses = progress.accesses;
  // A machine with much else to do may have given the worker no time since the last look.
  const bool is_busy = accesses - accesses_ > kBusy || accesses == accesses_;
  addresses_.insert(progress.address);
  if (progress.turns != turns_ || !is_busy || addresses_.size() > kFewAddresses)
    start_again(progress, now);
  if (accesses == accesses_) since_ += kLookEvery;  // no access: no sign of spinning
  accesses_ = accesses;
  if (now - since_ > patience()) progress.vain = turns_;
}

double patience() {
  return seconds_of_patience;
}
void set_patience(double seconds) {
  seconds_of_patience = seconds;
}

}  // namespace simulator
