// A page's worker has one thread: it does the work of the pool itself.
#include "common/simulator/world/threads.hpp"

#include <chrono>

namespace simulator {

struct ThreadPool::State {
  Work work;
};

ThreadPool::ThreadPool(size_t, std::function<Work(size_t)> begin) : state_(new State{begin(0)}) {}
ThreadPool::~ThreadPool() = default;

size_t ThreadPool::size() const {
  return 1;
}
void ThreadPool::run(double, const std::function<void()>&) {
  state_->work();
}
double ThreadPool::processor_time(size_t) const {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace simulator
