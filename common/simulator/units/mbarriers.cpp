#include "common/simulator/units/mbarriers.hpp"

#include <utility>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/units/hopper.hpp"
#include "common/simulator/units/waiting.hpp"
#include "ptx_hopper.h"

namespace simulator {
namespace {

constexpr int64_t kMostArrivals = (1 << 20) - 1, kMostBytes = (1 << 20) - 1;

struct AtMbarrier : Waiting {
  AtMbarrier(const Mbarriers& barriers, const Mbarrier& barrier, uint32_t parity, uint32_t next)
      : barriers(barriers), barrier(barrier), parity(parity), next(next) {}
  /// The phase that the thread came for has ended, and the one after it, too.
  bool has_missed_a_phase() const { return barrier.phase >= next + 2; }
  std::string what() const override {
    return "barrier_wait(), parity " + std::to_string(parity) + ", of " + barriers.name(barrier) +
           ", " + Mbarriers::state(barrier);
  }
  int weight() const override {
    if (has_missed_a_phase()) return 4;
    if (barrier.arrived == barrier.arrivals) return 3;
    return barrier.arrived > 0 || barrier.came_bytes > 0 ? 2 : 1;
  }
  std::string likely() const override {
    if (has_missed_a_phase())
      return "  likely: the thread came late, phase " + std::to_string(next + 1) +
             " ended before it waited for phase " + std::to_string(next) +
             ": barrier_init() was told too few arrivals, or what lets a phase begin, as an empty "
             "stage does, does not count every thread that waits for the phase before\n";
    if (barrier.arrived == barrier.arrivals && barrier.came_bytes < barrier.expected_bytes)
      return "  likely: fewer bytes are copied than barrier_arrive_expect() says; those outside of "
             "the array count, too\n";
    if (barrier.arrived == barrier.arrivals)
      return "  likely: more bytes are copied than barrier_arrive_expect() says\n";
    if (barrier.arrived == 0 && barrier.came_bytes == 0)
      return "  likely: nobody arrives for this phase: the parity is wrong, or the number of turns "
             "differs between those who arrive and those who wait\n";
    return "  likely: barrier_init() was told more arrivals than come, or some threads do not come "
           "to theirs\n";
  }
  const Mbarriers& barriers;
  const Mbarrier& barrier;
  uint32_t parity, next;
};

}  // namespace

std::string Mbarriers::name(const Mbarrier& barrier) const {
  const std::string name = running_.shared_name(barrier.address), prefix = "shared memory ";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string Mbarriers::state(const Mbarrier& barrier) {
  std::string text = "phase " + std::to_string(barrier.phase) + ": ";
  if (barrier.expected_bytes != 0 || barrier.came_bytes != 0)
    text += "expected " + std::to_string(barrier.expected_bytes) + " bytes, " +
            std::to_string(barrier.came_bytes) + " came; ";
  return text + std::to_string(barrier.arrived) +
         (barrier.arrived == 1 ? " arrival of " : " arrivals of ") +
         std::to_string(barrier.arrivals);
}

void Mbarriers::make(uint64_t* barrier, uint32_t arrivals, const void* instruction) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(barrier);
  if (!running_.is_shared(address) || address % 8 != 0)
    refuse(running_, "bounds", instruction,
           "  barrier_init() takes 8 bytes of this block's shared memory, at a multiple of 8\n",
           cudaErrorIllegalAddress);
  if (arrivals == 0 || arrivals > kMostArrivals)
    refuse(running_, "barrier", instruction,
           "  barrier_init() with " + std::to_string(arrivals) +
               " arrivals: a barrier counts 1 to 1048575\n");
  if (running_.checks) {
    running_.checks->shared_access(address, 8, AccessKind::write, instruction);
    running_.checks->settle();
  }
  const size_t number = barriers_.size();
  Mbarrier& made = barriers_[address];
  const uint32_t unit = made.unit != 0 ? made.unit : kTmaUnits + static_cast<uint32_t>(number);
  if (unit >= kUnits + kMaxUnits)
    refuse(running_, "barrier", instruction,
           "  the simulator has room for " + std::to_string(number) + " barriers of a block\n");
  // PTX ISA, mbarrier.init: undefined where there is a valid barrier, which mbarrier.inval has not
  // ended.
  if (made.arrivals != 0)
    refuse(
        running_, "barrier", instruction,
        "  barrier_init() of " + name(made) + ", which is one already: " +
            running_.place(static_cast<uint32_t>(made.made_by), running_.block_number()) +
            " made it" + (made.waiting.empty() ? "" : ", and threads wait at it") +
            "\n  likely: all threads call it, and one of a block should; or it stands in a loop\n");
  Knowledge known = std::move(made.completed);  // of the unit's copies before
  made = {};
  made.address = address;
  made.unit = unit;
  made.arrivals = arrivals;
  made.made_by = running_.current();
  made.completed = {};
  *barrier = 0;
}

void Mbarriers::show() {
  for (auto& [address, barrier] : barriers_)
    if (barrier.made_by == running_.current()) barrier.is_shown = true;
}

Mbarrier& Mbarriers::look_up(uintptr_t barrier, const char* what, const void* instruction) {
  const auto found = barriers_.find(barrier);
  if (found == barriers_.end())
    refuse(running_, "init", instruction,
           std::string("  ") + what + " of " +
               (running_.is_shared(barrier) ? running_.shared_name(barrier)
                                            : "what is not this block's shared memory") +
               ", which is no barrier: barrier_init() was not called for it\n");
  return found->second;
}

Mbarrier& Mbarriers::find(uintptr_t barrier, const char* what, const void* instruction) {
  Mbarrier& found = look_up(barrier, what, instruction);
  if (running_.checks) running_.checks->shared_access(barrier, 8, AccessKind::read, instruction);
  return found;
}

Mbarrier& Mbarriers::find_from(RunningBlock& other, uintptr_t barrier, const char* what,
                               const void* instruction) {
  Mbarrier& found = look_up(barrier, what, instruction);
  if (other.checks)
    other.checks->remote_access(running_, running_.address_from_others(barrier), 8,
                                AccessKind::read, instruction);
  return found;
}

void Mbarriers::arrive(Mbarrier& barrier, uint32_t bytes, const void* instruction) {
  if (running_.checks) running_.checks->release(running_.current(), barrier.arriving);
  count_arrival(barrier, bytes, instruction);
}

void Mbarriers::arrive_at(uint32_t block, uint64_t* barrier, const void* instruction) {
  const char* const what = "barrier_arrive_at()";
  RunningBlock& other = running_.block_of_cluster(block, instruction);
  const uintptr_t there = other.same_address(reinterpret_cast<uintptr_t>(barrier), running_);
  if (&other == &running_) return arrive(find(there, what, instruction), 0, instruction);
  Mbarriers& others = other.hopper->mbarriers;
  Mbarrier& found = others.find_from(running_, there, what, instruction);
  if (running_.checks)
    running_.checks->release_to(*other.checks, running_.current(), found.arriving);
  others.count_arrival(found, 0, instruction);
}

void Mbarriers::count_arrival(Mbarrier& barrier, uint32_t bytes, const void* instruction) {
  if (barrier.arrived == barrier.arrivals)
    refuse(running_, "barrier", instruction,
           "  one arrival more than " + name(barrier) + " counts, in " + state(barrier) +
               "\n  likely: barrier_init() was told too few arrivals, or a thread arrives again "
               "without having waited for the phase\n");
  barrier.expected_bytes += bytes;
  if (barrier.expected_bytes > kMostBytes)
    refuse(running_, "barrier", instruction,
           "  " + name(barrier) + " would expect " + std::to_string(barrier.expected_bytes) +
               " bytes: a barrier counts up to 1048575\n");
  ++barrier.arrived;
  if (barrier.completes()) complete(barrier);
}

void Mbarriers::bytes_came(Mbarrier& barrier, int64_t bytes, const void*) {
  if (running_.checks) running_.checks->unit_done(barrier.unit, barrier.arriving);
  barrier.came_bytes += bytes;
  if (barrier.completes()) complete(barrier);
}

void Mbarriers::complete(Mbarrier& barrier) {
  ++barrier.phase;
  barrier.arrived = barrier.expected_bytes = barrier.came_bytes = 0;
  barrier.completed.join(barrier.arriving);
  barrier.arriving.times.clear();
  for (const int thread : std::exchange(barrier.waiting, {})) running_.wake(thread);
}

void Mbarriers::wait(uint64_t* at, uint32_t parity, const void* instruction) {
  Mbarrier& barrier = find(reinterpret_cast<uintptr_t>(at), "barrier_wait()", instruction);
  if (running_.checks) running_.checks->lane_waits(running_.current());
  if (parity > 1)
    refuse(running_, "barrier", instruction,
           "  barrier_wait() takes the parity of a phase, 0 or 1, and not " +
               std::to_string(parity) + "\n");
  while (barrier.phase % 2 == parity) {
    AtMbarrier waiting(*this, barrier, parity, barrier.waited_for[running_.current()]);
    waiting.instruction = instruction;
    barrier.waiting.push_back(running_.current());
    running_.wait_for(waiting);
  }
  barrier.waited_for[running_.current()] = barrier.phase;
  if (running_.checks) running_.checks->acquire(running_.current(), barrier.completed);
}

// ---- What kernels call

void mbarrier_init(uint64_t* barrier, uint32_t arrivals) {
  RunningBlock& running = hopper_block("barrier_init()");
  const SimulatorScope scope;
  running.hopper->mbarriers.make(barrier, arrivals, __builtin_return_address(0));
}
void fence_mbarrier_init() {
  RunningBlock& running = hopper_block("barrier_init_fence()");
  const SimulatorScope scope;
  running.hopper->mbarriers.show();
}
void mbarrier_arrive(uint64_t* barrier, uint32_t block, uint32_t bytes) {
  RunningBlock& running = hopper_block("barrier_arrive()");
  const SimulatorScope scope;
  const void* const instruction = __builtin_return_address(0);
  Mbarriers& all = running.hopper->mbarriers;
  running.settle();
  if (block != kThisBlock) return all.arrive_at(block, barrier, instruction);
  all.arrive(all.find(reinterpret_cast<uintptr_t>(barrier), "barrier_arrive()", instruction), bytes,
             instruction);
}
void mbarrier_wait(uint64_t* barrier, uint32_t parity) {
  RunningBlock& running = hopper_block("barrier_wait()");
  const SimulatorScope scope;
  running.hopper->mbarriers.wait(barrier, parity, __builtin_return_address(0));
}
void fence_proxy_async() {
  RunningBlock& running = hopper_block("fence_async_proxy()");
  const SimulatorScope scope;
  running.hopper->mbarriers.show();
  if (running.checks) running.checks->proxy_fence();
}

}  // namespace simulator
