#include "common/simulator/check/spin_watch.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace simulator {
namespace {

constexpr size_t kFewAddresses = 4;
constexpr uint64_t kBusy = 1000;  // accesses between two looks; a loop that spins makes far more
std::atomic<double> seconds_of_patience = 20;
std::atomic<double> seconds_of_launch = 0;
std::atomic<bool> one_was_ended = false, one_was_given_up = false;
std::vector<tutorial::Asked> expected;

std::mutex list_mutex;
std::vector<Progress*> list;  // of all workers

}  // namespace

// ---- Progress

Progress::Progress(std::atomic<bool>& heed) : heed_(heed) {
  const std::lock_guard lock(list_mutex);
  list.push_back(this);
}
Progress::~Progress() {
  const std::lock_guard lock(list_mutex);
  std::erase(list, this);
}

void Progress::stop(const std::string& why, uint64_t turn) {
  if (!stopped_) {
    why_ = why;
    stopped_turn_ = turn;
    stopped_ = true;
  }
  heed_ = true;  // each time: the worker may have begun a block meanwhile
}
void Progress::go_on() {
  stopped_ = false;
}
bool Progress::must_stop() const {
  return stopped_ && (stopped_turn_ == kAnyTurn || stopped_turn_ == turns);
}

void Progress::wait_for_others(uintptr_t at) const {
  const auto is_there = [&] {
    const std::lock_guard lock(list_mutex);
    return std::any_of(list.begin(), list.end(), [&](const Progress* other) {
      return other != this && other->address.load() - (at & ~uintptr_t{15}) < 16;
    });
  };
  // A write follows its announcement at once, unless the system gives the core to somebody else. A
  // worker that has written and now computes looks the same: it is not waited for again and again.
  static std::atomic<int> in_vain = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  for (int turn = 0; in_vain < 100 && is_there(); ++turn) {
    if (turn > 100) std::this_thread::yield();
    if (std::chrono::steady_clock::now() < end) continue;
    ++in_vain;
    break;
  }
}

// ---- SpinWatch

void SpinWatch::begin(double time) {
  begin_ = time;
  turns_ = UINT64_MAX;
}

void SpinWatch::start_again(const Progress& progress, double now) {
  turns_ = progress.turns;
  first_ = progress.accesses;
  since_ = now;
  addresses_.clear();
}

void SpinWatch::look(Progress& progress, double now) {
  const uint64_t accesses = progress.accesses;
  const bool has_accesses = accesses != first_;
  // A machine with much else to do may have given the worker no time since the last look.
  const bool is_busy = accesses - accesses_ > kBusy || accesses == accesses_;
  addresses_.insert(progress.address);
  if (progress.turns != turns_ || !is_busy || addresses_.size() > kFewAddresses)
    start_again(progress, now);
  accesses_ = accesses;
  // Ten more looks at once: a loop through an array shows that it is none of a few addresses.
  for (int i = 0; i < 10 && now > since_ && addresses_.size() <= kFewAddresses; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(10));
    addresses_.insert(progress.address);
  }
  if (now - since_ <= patience()) return;
  const std::string time = std::to_string(static_cast<int>(now - since_)) + " s ";
  progress.stop(has_accesses
                    ? "  this thread ran for " + time +
                          "at the same few addresses, while no other thread of its block can run\n"
                          "  likely: a loop waits for a flag or a lock; only barriers, shuffles "
                          "and votes let "
                          "other threads go on here\n"
                    : "  this thread ran for " + time +
                          "without an access to shared or global memory, and met no barrier\n"
                          "  likely: a loop does not end: look at its condition and its step\n",
                turns_);
  if (!one_was_given_up.exchange(true)) seconds_of_patience = patience() / 10;
}

// ---- Limits

double patience() {
  return seconds_of_patience;
}
void set_patience(double seconds) {
  seconds_of_patience = seconds;
  one_was_given_up = false;
}

double launch_limit() {
  return seconds_of_launch;
}
void set_launch_limit(double seconds) {
  seconds_of_launch = seconds;
  one_was_ended = false;
}
void launch_was_ended() {
  if (!one_was_ended.exchange(true)) seconds_of_launch = seconds_of_launch / 10;
}

double access_limit(const std::string& kernel) {
  const tutorial::Asked* asked = tutorial::find_asked(expected, kernel);
  if (asked == nullptr) return 0;
  return 10 * static_cast<double>(asked->loads + asked->stores) / sizeof(float);
}
void set_expected(std::vector<tutorial::Asked> asked) {
  expected = std::move(asked);
}

}  // namespace simulator
