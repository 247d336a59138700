// The checks of what blocks of a cluster do to each other's shared memory.
//
// The cluster's barrier orders what a thread did before it arrived before what another does after
// it has waited. So each thread remembers when, by its warp's clock, it arrived the last two times:
// nobody can have waited more often than that, nor less.
//
// A block must have begun when another uses its shared memory, and must not have left: before such
// an access its thread has waited at the cluster's barrier, and between the access and the end of
// the other block there is another one. This is told whichever block the simulator ran first.
#include <algorithm>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/device/running_block.hpp"

namespace simulator {

void Checks::join_cluster(const std::vector<Checks*>& blocks, uint32_t run) {
  cluster_ = blocks;
  run_ = run;
  at_cluster_.assign(left_.size(), {});
  remote_.clear();
  when_left_ = {};
}

void Checks::cluster_arrived(int thread) {
  AtCluster& self = at_cluster_[static_cast<size_t>(thread)];
  self.before_last = self.last;
  const size_t warp = static_cast<size_t>(thread) / 32;
  self.last = ++clock_[warp];
  self.alone_at_arrival = self.together == together(warp) ? self.alone : 0;
  ++self.arrivals;
}

void Checks::cluster_waited(int thread) {
  ++at_cluster_[static_cast<size_t>(thread)].waits;
  lane_is_with_others(thread);
}

void Checks::lane_waits(int thread) {
  if (cluster_.empty()) return;
  AtCluster& self = at_cluster_[static_cast<size_t>(thread)];
  const uint32_t now = together(static_cast<size_t>(thread) / 32);
  self.alone = self.together == now ? self.alone + 1 : 1;
  self.together = now;
}

void Checks::lane_is_with_others(int thread) {
  if (!cluster_.empty()) at_cluster_[static_cast<size_t>(thread)].alone = 0;
}

void Checks::lanes_arrived(int first, unsigned living, const void* instruction) {
  const AtCluster* const lanes = &at_cluster_[static_cast<size_t>(first)];
  int least = -1, most = -1;  // lanes
  for (int lane = 0; lane < 32; ++lane) {
    if (!(living >> lane & 1)) continue;
    if (least < 0) least = most = lane;
    if (lanes[lane].arrivals != lanes[least].arrivals) return;  // others are still to come
    if (lanes[lane].alone_at_arrival < lanes[least].alone_at_arrival) least = lane;
    if (lanes[lane].alone_at_arrival > lanes[most].alone_at_arrival) most = lane;
  }
  if (lanes[least].alone_at_arrival == lanes[most].alone_at_arrival) return;
  const void* const at = static_cast<const char*>(running_.with_callers(instruction)) - 1;
  const auto waited = [&](int lane) {
    const int times = lanes[lane].alone_at_arrival;
    return running_.place(static_cast<uint32_t>(first + lane), block_) + " has waited " +
           std::to_string(times) + (times == 1 ? " time" : " times");
  };
  count_finding({"barrier", 0, cudaErrorLaunchFailure, block_}, at, at, [&] {
    return "barrier in " + std::string(running_.kernel()) + ", " + running_.block_text() +
           "\n  lanes of a warp come apart to the barrier of the cluster  " +
           source_line_with_text(at) + "\n  " + waited(most) +
           " for what not all lanes wait for since they were together, and " + waited(least) +
           "\n  likely: __syncwarp() is missing before this line, which is for whole warps: behind "
           "a branch their lanes need not be together again\n";
  });
}

bool Checks::ordered_by_cluster(const Record& before) const {
  const int waits = at_cluster_[static_cast<size_t>(running_.current())].waits;
  if (waits == 0) return false;
  for (const Checks* block : cluster_) {
    if (block->block_ != before.block || before.thread >= block->at_cluster_.size()) continue;
    const AtCluster& other = block->at_cluster_[before.thread];
    return before.time < (other.arrivals > waits ? other.before_last : other.last);
  }
  return false;
}

/// By barriers that count arrivals of other blocks.
bool Checks::knows_of_other(const Record& before) const {
  const size_t which = column(before.thread);
  uint32_t known = 0;
  if (observer_)
    known = observer_->of(before.block, which);
  else if (!acquired_.empty())
    known =
        std::max(common_.of(before.block, which),
                 acquired_[static_cast<size_t>(running_.current())].knows.of(before.block, which));
  return before.time < known;
}

void Checks::remote_access(RunningBlock& owner, uintptr_t address, size_t bytes, AccessKind kind,
                           const void* instruction) {
  Checks& there = *owner.checks;
  running_.progress.access(address);
  if (heed) running_.heed_watch(instruction);
  settle();
  const Record now = record_now(instruction);
  const AtCluster& self = at_cluster_[now.thread];
  const RemoteAccess access = {now, kind, address, self.arrivals};
  if (owner.has_left())
    report_left(there, access, "has left the kernel");
  else if (self.waits == 0)
    report_not_begun(there, access);
  else if (kind != AccessKind::tile_begins)  // for which the other block waits
    there.remote_[{block_, now.thread}] = access;
  access_shared(there, address, bytes, kind, now);
}

/// All threads of the block have left. Who used its shared memory after he arrived at the last
/// barrier that it waited at may do so only now.
void Checks::block_left() {
  int waits = 0;
  for (const AtCluster& thread : at_cluster_) waits = std::max(waits, thread.waits);
  for (const auto& [by, access] : remote_) {
    const size_t which = column(by.second);
    const uint32_t known = std::max(common_.of(by.first, which), when_left_.of(by.first, which));
    if (access.arrivals < waits || access.record.time < known) continue;
    for (Checks* block : cluster_)
      if (block->block_ == by.first)
        block->report_left(*this, access, "may have left the kernel before that");
  }
}

void Checks::report_left(const Checks& owner, const RemoteAccess& access, const char* when) {
  const SimulatorScope scope;
  const void* const instruction = instruction_of(access.record);
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, instruction, instruction, [&] {
    return "race in " + std::string(running_.kernel()) + ", " +
           running_.shared_name(access.address) + "\n" + done_by(access.kind) +
           place(access.record, false) + "  " + owner.running_.block_text() + " " + when +
           ", and its shared memory is then another block's\n"
           "  likely: a barrier of the cluster is missing behind this line: a block must not leave "
           "while another still uses its shared memory\n";
  });
}

void Checks::report_not_begun(const Checks& owner, const RemoteAccess& access) {
  const SimulatorScope scope;
  const void* const instruction = instruction_of(access.record);
  count_finding({"race", 1, cudaErrorLaunchFailure, block_}, instruction, instruction, [&] {
    return "race in " + std::string(running_.kernel()) + ", " +
           running_.shared_name(access.address) + "\n" + done_by(access.kind) +
           place(access.record, false) + "  " + owner.running_.block_text() +
           " may not have begun, and its shared memory may be another block's\n"
           "  likely: a barrier of the cluster is missing before this line: it waits until all "
           "blocks of the cluster run\n";
  });
}

}  // namespace simulator
