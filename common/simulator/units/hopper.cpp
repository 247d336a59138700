#include "common/simulator/units/hopper.hpp"

#include <cstdio>
#include <cstdlib>

#include "common/backend/needs.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/units/matrix.hpp"
#include "common/simulator/world/symbols.hpp"
#include "ptx_hopper.h"

namespace simulator {

void Hopper::begin_block() {
  mbarriers.begin_block();
  copies.begin_block();
  products.begin_block();
  named.begin_block();
  registers.begin_block();
}

bool Hopper::go_on() {
  return used && copies.land();
}

void Hopper::thread_left(int thread) {
  products.thread_left(thread);
  copies.thread_left(thread);
}

void Hopper::end_block() {
  copies.end_block();
}

void refuse(RunningBlock& running, const char* kind, const void* instruction,
            const std::string& text, cudaError_t error) {
  throw Fault(error, std::string(kind) + " in " + running.kernel() + ", " +
                         running.place_of_running_thread() + "  " +
                         source_line_with_text(
                             static_cast<const char*>(running.with_callers(instruction)) - 1) +
                         "\n" + text);
}

RunningBlock& hopper_block(const char* what, const char* needs) {
  RunningBlock* const running = current_block();
  if (running == nullptr) {
    std::fprintf(stderr, "%s was called outside a kernel.\n", what);
    std::abort();
  }
  running->hopper->used = true;
  const std::string why = tutorial::why_not_on(needs, architecture().capability, "this device");
  if (!why.empty()) {
    const SimulatorScope scope;
    throw Fault(cudaErrorLaunchFailure,
                "trap in " + std::string(running->kernel()) + ", " +
                    running->place_of_running_thread() + "\n  " + what + " " + why +
                    "\n  likely: the launcher does not refuse the device\n");
  }
  return *running;
}

// ---- What kernels call

/// The hardware elects one lane, the same at each time, and does not say which.
bool elect_one() {
  static constexpr MatrixOperation elect{"elect_one()", 0,
                                         [](RunningBlock&, const MatrixParts& parts) {
                                           for (void* part : parts)
                                             if (part) {
                                               *static_cast<bool*>(part) = true;
                                               return;
                                             }
                                         }};
  RunningBlock& running = hopper_block("elect_one()");
  const SimulatorScope scope;
  bool elected = false;
  running.matrix(elect, &elected, __builtin_return_address(0));
  return elected;
}

}  // namespace simulator
