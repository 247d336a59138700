// Which calls led to where a thread of a kernel is: of those that the compiler has left calls. (Of
// what it has put into its callers the debug information tells.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulator {

class CallStack {
 public:
#ifdef __wasm__
  static constexpr bool kIsKept = false;  // a page does not tell where a call returns to
#else
  static constexpr bool kIsKept = true;
#endif

  /// A thread begins; the first function that it enters is its kernel.
  void begin() {
    depth_ = 0;
  }
  /// `inside`: an instruction of the function. `after`: where it will return to.
  void enter(const void* inside, const void* after) {
    if (depth_ < kMost) {
      const uint64_t before = depth_ > 1 ? calls_[depth_ - 1].way : 0;
      calls_[depth_] = {inside, after, (before + reinterpret_cast<uintptr_t>(after)) * kFactor};
    }
    ++depth_;
  }
  void leave() {
    --depth_;
  }

  /// `after`, where a call of the running function returns to, in the kernel itself; in a function
  /// that it calls an address behind the program, which stands for `after` and for the calls that
  /// led there. symbols.hpp knows what it means, and reports take it in place of the other.
  const void* with_callers(const void* after) const {
    return depth_ > 1 ? address_for(after) : after;
  }

 private:
  static constexpr size_t kMost = 16;  // what is called deeper down is not told
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  struct Call {
    const void *inside, *after;
    uint64_t way;  // tells apart the ways from the kernel to here
  };
  const void* address_for(const void* after) const;

  size_t depth_ = 0;
  Call calls_[kMost];
};

/// The instruction that this address stands for, and those of the calls that led to it, the last
/// one first: only itself, if it is an instruction's.
std::vector<const void*> calls_that_led_to(const void* instruction);

}  // namespace simulator
