// The machine ends a fiber that traps, and the page tells its resumer why. A thread that a check
// ends stops for ever.
#include "common/simulator/world/crashes.hpp"

#include "common/simulator/world/wasm/machine.hpp"

namespace simulator {
namespace {

void (*the_handler)(const Crash&) = nullptr;
struct Left {};  // an exception: on its way to WayOut::run()

}  // namespace

CrashGuard::CrashGuard(void (*handler)(const Crash&)) {
  the_handler = handler;
}
CrashGuard::~CrashGuard() {
  the_handler = nullptr;
}
CrashStack::CrashStack() : pages_(nullptr) {}
CrashStack::~CrashStack() = default;

struct WayOut::Place {};
WayOut::WayOut() = default;
WayOut::~WayOut() = default;

bool WayOut::run(const std::function<void()>& body) {
  try {
    body();
    return true;
  } catch (const Left&) {
    return false;
  }
}
void WayOut::leave() {
  if (is_on_fiber()) leave_fiber();
  throw Left();
}

void on_left(int why) {
  // The handler leaves, too.
  if (why != kLeft && the_handler != nullptr)
    the_handler({why, nullptr,
                 reinterpret_cast<const void*>(static_cast<uintptr_t>(simulator_place())), 0});
  throw Left();
}

}  // namespace simulator
