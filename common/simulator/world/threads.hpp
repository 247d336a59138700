// Threads that wait for work, do it together, and wait again.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace simulator {

class ThreadPool {
 public:
  using Work = std::function<void()>;
  /// A thread for each core, up to `most`. Each calls begin(its number) once, all before this
  /// returns, and keeps the work that it gets until the pool ends.
  ThreadPool(size_t most, std::function<Work(size_t number)> begin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  size_t size() const;
  /// All do their work once. While it waits for them, the calling thread looks every so many
  /// seconds.
  void run(double seconds, const std::function<void()>& look);
  /// Seconds that a thread has computed so far.
  double processor_time(size_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The work calls this often: where it has the only thread there is, that one looks meanwhile.
#ifdef __wasm__
extern constinit int calls_until_clock;
void look_at_clock();
inline void look_meanwhile() {
  if (--calls_until_clock == 0) look_at_clock();
}
#else
inline void look_meanwhile() {}
#endif

}  // namespace simulator
