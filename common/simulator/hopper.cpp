#include "common/simulator/hopper.hpp"

#include <cstdio>
#include <cstdlib>

#include "common/backend/needs.hpp"
#include "common/simulator/block.hpp"
#include "common/simulator/matrix.hpp"
#include "common/simulator/report.hpp"
#include "common/simulator/symbols.hpp"
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

void refuse(Worker& worker, const char* kind, const void* instruction, const std::string& text,
            cudaError_t error) {
  throw Fault(error, std::string(kind) + " in " + worker.kernel() + ", " +
                         worker.place_of_running_thread() + "  " +
                         source_line_with_text(static_cast<const char*>(instruction) - 1) + "\n" +
                         text);
}

Worker& hopper_worker(const char* what, const char* needs) {
  Worker* const worker = current_worker();
  if (worker == nullptr) {
    std::fprintf(stderr, "%s was called outside a kernel.\n", what);
    std::abort();
  }
  worker->hopper->used = true;
  const std::string why = tutorial::why_not_on(needs, architecture().capability, "this device");
  if (!why.empty()) {
    const SimulatorScope scope;
    throw Fault(cudaErrorLaunchFailure,
                "trap in " + std::string(worker->kernel()) + ", " +
                    worker->place_of_running_thread() + "\n  " + what + " " + why +
                    "\n  likely: the launcher does not refuse the device\n");
  }
  return *worker;
}

// ---- What kernels call

/// The hardware elects one lane, the same at each time, and does not say which.
bool elect_one() {
  static constexpr MatrixOperation elect{"elect_one()", 0, [](Worker&, const MatrixParts& parts) {
                                           for (void* part : parts)
                                             if (part) {
                                               *static_cast<bool*>(part) = true;
                                               return;
                                             }
                                         }};
  Worker& worker = hopper_worker("elect_one()");
  const SimulatorScope scope;
  bool elected = false;
  worker.matrix(elect, &elected, __builtin_return_address(0));
  return elected;
}

}  // namespace simulator
