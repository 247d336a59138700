// What a block has of compute capability 9.0 (<ptx_hopper.h>): barriers that count, the TMA unit,
// warpgroups. What goes on by itself there is done as late as it may be: a copy lands when nobody
// can go on without it, products are made when somebody waits for them.
#pragma once

#include <cstdint>
#include <string>

#include "common/simulator/units/mbarriers.hpp"
#include "common/simulator/units/tile_copies.hpp"
#include "common/simulator/units/warpgroups.hpp"
#include "simulator/runtime_api.h"

namespace simulator {

class RunningBlock;

struct Hopper {
  explicit Hopper(RunningBlock& running)
      : mbarriers(running),
        copies(running),
        products(running),
        named(running),
        registers(running) {}

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
[[noreturn]] void refuse(RunningBlock& running, const char* kind, const void* instruction,
                         const std::string& text, cudaError_t error = cudaErrorLaunchFailure);

/// The block that calls; ends the program if there is none, and the launch if the device
/// has not what `what` needs: "sm_90", or "sm_90a" for that compute capability alone.
RunningBlock& hopper_block(const char* what, const char* needs = "sm_90");

}  // namespace simulator
