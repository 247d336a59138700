#include "common/simulator/world/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace simulator {

struct ThreadPool::State {
  std::function<Work(size_t)> begin;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, done;
  int64_t generation = 0;
  size_t busy = 0;  // also with begin()
  bool stop = false;

  void live(size_t number) {
    const Work work = begin(number);
    int64_t seen = 0;
    std::unique_lock lock(mutex);
    if (--busy == 0) done.notify_all();
    for (;;) {
      wake.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      lock.unlock();
      work();
      lock.lock();
      if (--busy == 0) done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(size_t most, std::function<Work(size_t)> begin)
    : state_(std::make_unique<State>()) {
  state_->begin = std::move(begin);
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, most);
  state_->busy = cores;
  for (size_t i = 0; i < cores; ++i)
    state_->threads.emplace_back([state = state_.get(), i] { state->live(i); });
  // A program that ends at once must not take from a thread what its begin() uses: what is made
  // before the pool is there ends after it.
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [&] { return state_->busy == 0; });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

size_t ThreadPool::size() const {
  return state_->threads.size();
}

void ThreadPool::run(double seconds, const std::function<void()>& look) {
  std::unique_lock lock(state_->mutex);
  state_->busy = size();
  ++state_->generation;
  state_->wake.notify_all();
  const auto all_done = [&] { return state_->busy == 0; };
  while (!state_->done.wait_for(lock, std::chrono::duration<double>(seconds), all_done)) {
    lock.unlock();
    look();
    lock.lock();
  }
}

double ThreadPool::processor_time(size_t number) const {
  clockid_t clock{};
  timespec time{};
  const pthread_t thread = state_->threads[number].native_handle();
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace simulator
