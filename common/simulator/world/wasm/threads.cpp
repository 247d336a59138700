// A page's worker has one thread: it does the work of the pool itself, and looks in between.
#include "common/simulator/world/threads.hpp"

#include <algorithm>
#include <chrono>

namespace simulator {
namespace {

/// Between two looks at the clock: below a millisecond of the fastest loops. A prime, so that the
/// looks fall on all places of a loop.
constexpr int kCalls = 99'991;
/// Seconds between them; where it is more, the page was asleep.
constexpr double kLongest = 1;

const std::function<void()>* the_look = nullptr;  // of the pool that works
double look_every = 0, looked_at = 0;
double computed = 0, clock_was = 0;

double clock_now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

constinit int calls_until_clock = kCalls;

void look_at_clock() {
  calls_until_clock = kCalls;
  if (the_look == nullptr) return;
  const double now = clock_now();
  computed += std::min(now - clock_was, kLongest);
  clock_was = now;
  if (computed - looked_at < look_every) return;
  looked_at = computed;
  (*the_look)();
}

struct ThreadPool::State {
  Work work;
};

ThreadPool::ThreadPool(size_t, std::function<Work(size_t)> begin) : state_(new State{begin(0)}) {}
ThreadPool::~ThreadPool() = default;

size_t ThreadPool::size() const {
  return 1;
}
void ThreadPool::run(double seconds, const std::function<void()>& look) {
  the_look = &look;
  look_every = seconds;
  looked_at = computed;
  clock_was = clock_now();
  state_->work();
  the_look = nullptr;
}
double ThreadPool::processor_time(size_t) const {
  return computed;
}

}  // namespace simulator
