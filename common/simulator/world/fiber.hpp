// Functions that stop in their midst and go on later, each on a stack of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace simulator {

class Fiber {
 public:
  /// `body` runs on these bytes of stack, which stay the caller's, from the first resume() on. It
  /// must not end.
  Fiber(void* stack, size_t bytes, std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;

  /// Runs the body until it suspends.
  void resume();
  /// Called by the body: back to whoever resumed it. Returns when it is resumed again.
  void suspend();
  /// Called by the body, where kPasses: `next` runs, and gives back to whoever resumed this one.
  /// Half as many switches as a way round by the resumer.
  void pass_to(Fiber& next);
#ifdef __wasm__
  static constexpr bool kPasses = true;
#else
  static constexpr bool kPasses = false;  // a switch costs next to nothing
#endif
  /// The body will go on no more. Its stack is given up without unwinding: device code has no
  /// exceptions, and a destructor or a noexcept function could not be left by one. What it owns is
  /// lost.
  void abandon();
  /// The body was left by a jump to whoever resumed it, and not by suspend().
  void was_left();

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace simulator
