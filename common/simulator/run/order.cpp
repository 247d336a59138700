#include "common/simulator/run/order.hpp"

#include <atomic>
#include <numeric>

#include "common/simulator/device/environment.hpp"

namespace simulator {
namespace {

std::atomic<uint64_t>& the_seed() {
  static std::atomic<uint64_t> seed = number_from_environment("SIMULATOR_ORDER").value_or(0);
  return seed;
}

}  // namespace

uint64_t thread_order() {
  return the_seed();
}
void set_thread_order(uint64_t seed) {
  the_seed() = seed;
}

BlockOrder::BlockOrder(uint64_t seed, int64_t count) : count_(static_cast<uint64_t>(count)) {
  if (seed == 0 || count_ < 2) return;
  Shuffle shuffle(seed);
  first_ = shuffle.below(count_);
  do step_ = 1 + shuffle.below(count_);
  while (std::gcd(step_, count_) != 1);
}

int64_t BlockOrder::operator()(int64_t i) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>((Wide{static_cast<uint64_t>(i)} * step_ + first_) % count_);
}

}  // namespace simulator
