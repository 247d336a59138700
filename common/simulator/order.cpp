#include "common/simulator/order.hpp"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace simulator {
namespace {

uint64_t seed_from_environment() {
  const char* text = std::getenv("SIMULATOR_ORDER");
  if (text == nullptr || *text == 0) return 0;
  const std::string_view digits(text);
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error == std::errc{} && end == digits.data() + digits.size()) return seed;
  std::fprintf(stderr, "SIMULATOR_ORDER is a whole number, 0 or more, and not \"%s\".\n", text);
  std::exit(2);
}

std::atomic<uint64_t>& the_seed() {
  static std::atomic<uint64_t> seed = seed_from_environment();
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
