// The copies to shared memory that threads of a block have asked for and not waited for.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace simulator {

struct AsyncCopy {
  void* to;          // shared memory
  const void* from;  // global memory
  size_t size, zfill;
  const void* instruction;
};

class AsyncCopies {
 public:
  void begin_block() { threads_.clear(); }
  void add(int thread, const AsyncCopy& copy) { of(thread).open.push_back(copy); }
  void commit(int thread) {
    Thread& self = of(thread);
    self.groups.push_back(std::exchange(self.open, {}));
  }
  /// Takes the copies out that are to be made now, so that `groups` groups are left.
  std::vector<AsyncCopy> take(int thread, size_t groups) {
    std::vector<AsyncCopy> copies;
    for (Thread& self = of(thread); self.groups.size() > groups; self.groups.pop_front())
      copies.insert(copies.end(), self.groups.front().begin(), self.groups.front().end());
    return copies;
  }

 private:
  struct Thread {
    std::vector<AsyncCopy> open;  // since the last commit
    std::deque<std::vector<AsyncCopy>> groups;
  };
  Thread& of(int thread) {
    if (static_cast<size_t>(thread) >= threads_.size())
      threads_.resize(static_cast<size_t>(thread) + 1);
    return threads_[static_cast<size_t>(thread)];
  }
  std::vector<Thread> threads_;
};

}  // namespace simulator
