// What a block has of compute capability 9.0 (<ptx_hopper.h>): barriers that count, the TMA unit,
// warpgroups. What goes on by itself there is done as late as it may be: a copy lands when nobody
// can go on without it, products are made when somebody waits for them.
#pragma once

#include <cstdint>
#include <string>

#include "common/simulator/mbarriers.hpp"
#include "common/simulator/tile_copies.hpp"
#include "common/simulator/warpgroups.hpp"
#include "runtime_api.h"

namespace simulator {

class Worker;

struct Hopper {
  explicit Hopper(Worker& worker)
      : mbarriers(worker), copies(worker), products(worker), named(worker), registers(worker) {}

  void begin_block();
  /// Nobody can go on: does what has begun and somebody waits for. Can somebody now?
  bool go_on();
  void thread_left(int thread);
  /// All threads have left.
  void end_block();

  Mbarriers mbarriers;
  TileCopies copies;
  Products products;
  NamedBarriers named;
  RegisterPool registers;
  bool used = false;  // any of it, by this block
};

/// The running thread did what the hardware does not do: ends the launch with a report, "barrier in
/// kernel, …", then `text`, whole lines. `instruction`: where the call returns to.
[[noreturn]] void refuse(Worker& worker, const char* kind, const void* instruction,
                         const std::string& text, cudaError_t error = cudaErrorLaunchFailure);

/// The worker whose block calls; ends the program if there is none, and the launch if the device
/// has not what `what` needs: "sm_90", or "sm_90a" for that compute capability alone.
Worker& hopper_worker(const char* what, const char* needs = "sm_90");

}  // namespace simulator
