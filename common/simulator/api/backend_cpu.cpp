// common/backend/backend.hpp on the simulator.
#include <cstdlib>
#include <string>
#include <utility>

#include "common/backend/backend.hpp"
#include "common/backend/needs.hpp"
#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/run/order.hpp"

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
  return why_not_on(needs, simulator::architecture().capability, "this simulator");
}

void mark_device_memory_unwritten(void* memory, int64_t bytes) {
  if (simulator::is_planning()) return;
  simulator::mark_unwritten(memory, static_cast<size_t>(bytes));
}

void mark_device_memory_elements(const void* elements, int64_t bytes, int64_t element) {
  simulator::set_elements(elements, static_cast<size_t>(bytes), static_cast<size_t>(element));
}

void switch_checks(bool on) {
  simulator::switch_checks(on);
}
void set_thread_order(uint64_t seed) {
  simulator::set_thread_order(seed);
}
void set_launch_limit(double seconds) {
  simulator::set_launch_limit(seconds);
}
void set_expected(std::vector<Asked> asked) {
  simulator::set_expected(std::move(asked));
}
std::string last_finding() {
  return simulator::last_finding();
}
std::string last_writer(const void* address) {
  return simulator::last_writer(address);
}

}  // namespace tutorial
