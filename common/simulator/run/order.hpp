// The order in which blocks and threads run. The natural one is 0, 1, 2 …; from a seed it is
// shuffled, the same for the same seed, so that code which is right in one order only shows it. And
// from a seed one warp of each block is late: it goes on when nobody else can, so that who runs
// ahead of it runs as far as the barriers let him. (Of many orders those with few priorities find
// most faults: Burckhardt, Kothari, Musuvathi, Nagarakatte: "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace simulator {

/// The seed; 0 is the natural order. At first what SIMULATOR_ORDER in the environment says.
uint64_t thread_order();
void set_thread_order(uint64_t seed);

/// A small generator of pseudo-random numbers (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
class Shuffle {
 public:
  explicit Shuffle(uint64_t seed = 0) : state_(seed) {}
  /// In [0, n).
  size_t below(size_t n) {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
  }
  void shuffle(std::vector<int>& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

 private:
  uint64_t state_;
};

/// Block number `i` of `count`, in the order of a seed: i -> (i · step + first) mod count, with a
/// step that shares no factor with the count.
class BlockOrder {
 public:
  BlockOrder(uint64_t seed, int64_t count);
  int64_t operator()(int64_t i) const;

 private:
  uint64_t count_, step_ = 1, first_ = 0;
};

}  // namespace simulator
