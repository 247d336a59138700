// common/backend.hpp on the simulator.
#include <cstdlib>

#include "common/backend.hpp"
#include "common/simulator/device.hpp"
#include "common/simulator/shadow.hpp"

namespace tutorial {

std::string device_description() {
  // ./learn says why it chose this backend; without it the build did.
  const char* reason = std::getenv("TUTORIAL_CPU_REASON");
  return std::string("CPU simulator (") + (reason ? reason : "built with the preset cpu") + ")";
}

bool device_has_clock() {
  return false;
}
void require_device() {}

std::string why_not_here(const std::string& needs) {
  return needs.empty() ? "" : "needs " + needs + ", which the CPU simulator does not have";
}

void mark_device_memory_unwritten(void* memory, int64_t bytes) {
  simulator::mark_unwritten(memory, static_cast<size_t>(bytes));
}

void reset_work() {
  simulator::reset_work();
}
Work counted_work() {
  return simulator::counted_work();
}

}  // namespace tutorial
