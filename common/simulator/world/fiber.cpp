#include "common/simulator/world/fiber.hpp"

#include <boost/context/fiber.hpp>
#include <utility>

namespace simulator {
namespace {

/// Gives Boost a stack that outlives the fiber.
struct KeptStack {
  void deallocate(boost::context::stack_context&) noexcept {}
};

/// Destroying a context would unwind its stack.
void leak(boost::context::fiber& context) {
  static_cast<void>(new boost::context::fiber(std::move(context)));
}

}  // namespace

struct Fiber::Contexts {
  boost::context::fiber body;     // empty while it runs
  boost::context::fiber resumer;  // … and this one otherwise
};

Fiber::Fiber(void* stack, size_t bytes, std::function<void()> body)
    : contexts_(std::make_unique<Contexts>()) {
  boost::context::stack_context context;
  context.size = bytes;
  context.sp = static_cast<unsigned char*>(stack) + bytes;
  contexts_->body = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
      KeptStack{},
      [contexts = contexts_.get(), body = std::move(body)](boost::context::fiber&& resumer) {
        contexts->resumer = std::move(resumer);
        body();
        return std::move(contexts->resumer);
      });
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  contexts_->body = std::move(contexts_->body).resume();
}
void Fiber::suspend() {
  contexts_->resumer = std::move(contexts_->resumer).resume();
}
void Fiber::abandon() {
  leak(contexts_->body);
}
void Fiber::was_left() {
  leak(contexts_->resumer);
}

}  // namespace simulator
