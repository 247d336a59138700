// Fibers by JavaScript Promise Integration: a call of the page's that the machine itself can stop
// and resume. Three imports stop whoever calls them; the page's side is
// docs/site/browser/run/fibers.js.
#include "common/simulator/world/fiber.hpp"

#include <cstdint>
#include <utility>

#include "common/simulator/world/wasm/machine.hpp"

namespace simulator {

struct Fiber::Contexts {
  FiberBody body;
  uintptr_t stack_end;
};

namespace {
FiberBody* the_running = nullptr;
}  // namespace

Fiber::Fiber(void* stack, size_t bytes, std::function<void()> body)
    : contexts_(new Contexts{std::move(body), reinterpret_cast<uintptr_t>(stack) + bytes}) {}
Fiber::~Fiber() = default;

/// The machine keeps calls and locals; of what has an address it knows nothing.
void Fiber::resume() {
  FiberBody* const before = std::exchange(the_running, &contexts_->body);
  void* const stack = stack_pointer();
  const int why = fiber_resume(&contexts_->body, contexts_->stack_end);
  set_stack_pointer(stack);
  the_running = before;
  if (why != kSuspended) on_left(why);
}
void Fiber::suspend() {
  void* const stack = stack_pointer();
  fiber_suspend(&contexts_->body, kSuspended);
  set_stack_pointer(stack);
}
void Fiber::pass_to(Fiber& next) {
  the_running = &next.contexts_->body;
  void* const stack = stack_pointer();
  fiber_pass(&contexts_->body, &next.contexts_->body, next.contexts_->stack_end);
  set_stack_pointer(stack);
}
void Fiber::abandon() {
  fiber_abandon(&contexts_->body);
}
void Fiber::was_left() {}

bool is_on_fiber() {
  return the_running != nullptr;
}
void leave_fiber() {
  fiber_suspend(the_running, kLeft);
  __builtin_unreachable();
}

}  // namespace simulator

/// What the page calls, on the fiber's stack (machine.s).
extern "C" void simulator_fiber_body(simulator::FiberBody* body) {
  (*body)();
}
