#include "common/simulator/world/call_stack.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "common/simulator/world/symbols.hpp"

namespace simulator {
namespace {

// Of 32 bits, which are what is remembered of an access: the program's instructions are below.
constexpr uintptr_t kFirst = uintptr_t{1} << 31;
constexpr size_t kMostWays = size_t{1} << 20;  // a function that calls itself has ever more

std::mutex mutex;
std::vector<std::vector<const void*>> ways;  // each with where its instruction's call returns to
std::map<uint64_t, const void*> known;

/// What a worker asked for lately.
struct Recent {
  uint64_t key = 0;
  const void* address = nullptr;
};
constinit thread_local Recent recent[256]{};

}  // namespace

const void* CallStack::address_for(const void* after) const {
  const size_t depth = std::min(depth_, kMost);
  const uint64_t key =
      (calls_[depth - 1].way + reinterpret_cast<uintptr_t>(after)) * kFactor | 1;  // never 0
  Recent& last = recent[key >> 56];
  if (last.key == key) return last.address;
  const std::lock_guard lock(mutex);
  if (known.size() == kMostWays && !known.contains(key)) return after;
  const auto [found, is_new] = known.try_emplace(key, after);
  // What is told of an earlier operation, in another function, did not come this way.
  if (is_new && depth_ <= kMost &&
      function_around(after) == function_around(calls_[depth - 1].inside)) {
    std::vector<const void*> way = {after};
    for (size_t d = depth - 1; d > 0; --d) way.push_back(calls_[d].after);
    ways.push_back(std::move(way));
    found->second = reinterpret_cast<const void*>(program_start() + kFirst + ways.size());
  }
  last = {key, found->second};
  return last.address;
}

std::vector<const void*> calls_that_led_to(const void* instruction) {
  const uintptr_t number = reinterpret_cast<uintptr_t>(instruction) - program_start() - kFirst;
  const std::lock_guard lock(mutex);
  if (number >= ways.size()) return {instruction};
  std::vector<const void*> calls;
  for (const void* after : ways[number]) calls.push_back(static_cast<const char*>(after) - 1);
  return calls;
}

}  // namespace simulator
