// Nobody can go on: where the threads of a block wait, and why.
#include <algorithm>
#include <map>
#include <sstream>

#include "common/simulator/device/report.hpp"
#include "common/simulator/run/block.hpp"
#include "common/simulator/units/waiting.hpp"

namespace simulator {

/// Of what a waiting thread waits at.
SourcePlace Worker::place_of_operation(const Thread& thread) const {
  return is_known_by_instruction(thread)
             ? source_place(static_cast<const char*>(thread.instruction) - 1)
             : place_of(thread.where);
}
/// The same with the calls that led there, which takes longer.
SourcePlace Worker::place_with_callers(const Thread& thread) const {
  const void* const instruction = static_cast<const char*>(thread.instruction) - 1;
  return is_known_by_instruction(thread) ? source_place(instruction)
                                         : source_place(thread.where, instruction);
}
bool Worker::is_known_by_instruction(const Thread& thread) const {
  return thread.state == State::at_cluster_barrier ||
         (thread.state != State::at_barrier && thread.warp_kind == WarpKind::matrix);
}

/// "left the kernel", "wait at a shuffle  file.cu:33   text for the lanes 0xff".
std::string Worker::place_of_thread(const Thread& thread) const {
  if (thread.state == State::finished) return "left the kernel";
  if (thread.state == State::at_cluster_barrier)
    return "wait at the barrier of the cluster  " + line_with_text(place_with_callers(thread));
  if (thread.state == State::waiting)
    return "wait at " + thread.waits_for->what() + "  " +
           source_line_with_text(static_cast<const char*>(thread.instruction) - 1);
  const bool at_barrier = thread.state == State::at_barrier;
  std::ostringstream text;
  text << "wait at "
       << (at_barrier                             ? name_of(thread.barrier_kind)
           : thread.warp_kind == WarpKind::matrix ? thread.operation->name
                                                  : name_of(thread.warp_kind))
       << "  " << line_with_text(place_with_callers(thread));
  if (!at_barrier && thread.warp_kind != WarpKind::matrix)
    text << "  for the lanes 0x" << std::hex << thread.mask;
  return text.str();
}

/// The lanes that the mask of a waiting thread names and that wait elsewhere: a line for each
/// place.
std::string Worker::missing_lanes(int waiting) const {
  const Thread& self = threads_[waiting];
  const int warp = waiting / 32 * 32;
  std::map<std::string, std::string> lanes;  // by place
  for (int l = 0; l < 32 && warp + l < static_cast<int>(threads_.size()); ++l) {
    const Thread& other = threads_[warp + l];
    if (!(self.mask >> l & 1) || other.state == State::finished || is_at_same(other, self))
      continue;
    std::string& list = lanes[place_of_thread(other)];
    list += (list.empty() ? "" : ", ") + std::to_string(l);
  }
  std::string text;
  for (const auto& [place, list] : lanes)
    text += "  missing of warp " + std::to_string(waiting / 32) + ": lanes " + list + ", which " +
            place + "\n";
  return text;
}

std::string Worker::why_absent(int thread, int lane) const {
  const int other = thread / 32 * 32 + lane;
  if (other >= static_cast<int>(threads_.size())) return "the block has no such thread";
  if (threads_[other].state == State::finished) return "it has left the kernel";
  return "the mask does not name it";
}

/// "  224 threads wait at …  first: thread (2,0)", a line for each place.
std::string Worker::groups_of_threads() const {
  struct Group {
    int count = 0, first = 0;
  };
  std::map<std::string, Group> groups;
  for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
    Group& group = groups[place_of_thread(threads_[t])];
    if (group.count++ == 0) group.first = t;
  }
  std::string text, missing;
  for (const auto& [place, group] : groups) {
    const dim3& size = grid_->launch.block;
    const unsigned f = static_cast<unsigned>(group.first);
    text += "  " + std::to_string(group.count) + (group.count == 1 ? " thread" : " threads") +
            (is_alone() ? "" : " of " + block_text()) + " " + place + "  first: thread " +
            triple({f % size.x, f / size.x % size.y, f / (size.x * size.y)}) + "\n";
    if (threads_[group.first].state == State::at_warp_operation)
      missing += missing_lanes(group.first);
  }
  return text + missing;
}

/// Nobody can go on: says where the threads are.
void Worker::report_stuck() {
  const auto any = [&](auto is) { return std::any_of(threads_.begin(), threads_.end(), is); };
  const bool lanes_missing =
      any([](const Thread& thread) { return thread.state == State::at_warp_operation; });
  const bool matrix = any([](const Thread& thread) {
    return thread.state == State::at_warp_operation && thread.warp_kind == WarpKind::matrix;
  });
  std::string text =
      "barrier in " + std::string(grid_->launch.kernel) + ", " +
      (is_alone() ? block_text() : "the cluster of " + cluster_->blocks()[0]->block_text()) +
      ": its threads wait for each other\n";
  bool at_cluster_barrier = false;
  const Waiting* waiting = nullptr;
  const std::vector<Worker*> alone = {this};
  for (const Worker* block : is_alone() ? alone : cluster_->blocks()) {
    text += block->groups_of_threads();
    for (const Thread& thread : block->threads_) {
      at_cluster_barrier |= thread.state == State::at_cluster_barrier;
      if (thread.state == State::waiting &&
          (waiting == nullptr || thread.waits_for->weight() > waiting->weight()))
        waiting = thread.waits_for;
    }
  }
  if (waiting)
    text += waiting->likely();
  else if (matrix)
    text +=
        "  likely: it stands in a branch or a loop that not all lanes of the warp take; all 32 "
        "must come to the same one\n";
  else if (lanes_missing)
    text +=
        "  likely: a shuffle, vote or __syncwarp() stands in a branch that not all lanes of its "
        "mask take\n";
  else if (at_cluster_barrier)
    text +=
        "  likely: a barrier of the cluster stands in a branch that not all its threads take; all "
        "threads of all its blocks must arrive at it\n";
  else
    text +=
        "  likely: a branch that differs between threads has a __syncthreads() in it; the threads "
        "of a block must meet at the same one\n";
  throw Fault(cudaErrorLaunchFailure, text);
}

}  // namespace simulator
