// Operations of a warp: the last lane to come does the work of all that the mask names.
#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "common/simulator/device/report.hpp"
#include "common/simulator/run/block.hpp"

namespace simulator {

const char* name_of(WarpKind kind) {
  switch (kind) {
    case WarpKind::sync:
      return "__syncwarp()";
    case WarpKind::shuffle:
      return "a shuffle";
    case WarpKind::ballot:
    case WarpKind::all:
    case WarpKind::any:
      return "a vote";
    case WarpKind::match:
      return "__match_any_sync()";
    case WarpKind::converge:
      return "coalesced_threads()";
    case WarpKind::matrix:
      return "an operation on matrices";
    default:
      return "a warp reduction";
  }
}

/// Those of a warp that have not finished: a bit a lane. `first` is the warp's first thread.
unsigned Worker::living_lanes(int first) const {
  unsigned living = 0;
  for (int t = first; t < std::min(first + 32, static_cast<int>(threads_.size())); ++t)
    if (threads_[t].state != State::finished) living |= 1u << (t - first);
  return living;
}

unsigned Worker::active_lanes() const {
  // A scheduler that runs one lane at a time: only the caller is certain to be here.
  return 1u << lane();
}

uint64_t Worker::warp(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                      Where where, const void* instruction) {
  instruction = with_callers(instruction);
  if (!(mask >> lane() & 1)) {
    std::ostringstream text;
    text << "barrier in " << where_is(current_) << "\n  " << name_of(kind) << " at "
         << line_with_text(source_place(where, static_cast<const char*>(instruction) - 1))
         << "\n  has the mask 0x" << std::hex << mask << ", which does not name the calling lane\n"
         << "  likely: the mask was not made for this branch; it names each lane that calls\n";
    throw Fault(cudaErrorLaunchFailure, text.str());
  }
  const int me = current_;
  settle();
  Thread& self = threads_[me];
  self.state = State::at_warp_operation;
  ++waiting_lanes_;
  self.where = where;
  self.instruction = instruction;
  self.warp_kind = kind;
  self.mask = mask;
  self.value = value;
  self.source = source;
  self.is_signed = is_signed;
  if (!try_finish_warp(me)) suspend();
  return threads_[me].value;
}

void Worker::matrix(const MatrixOperation& operation, void* part, const void* instruction) {
  threads_[current_].operation = &operation;
  warp(WarpKind::matrix, 0xffffffff, reinterpret_cast<uint64_t>(part), 0, false, Where(),
       instruction);
}

void Worker::run_matrix(int warp, unsigned lanes) {
  const int first = warp + std::countr_zero(lanes);
  const Thread& asked = threads_[first];
  const MatrixOperation& operation = *asked.operation;
  const auto version = [](int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  };
  if (operation.needs > capability_)
    throw Fault(cudaErrorLaunchFailure,
                "trap in " + where_is(first) + "  " + line_with_text(place_of_operation(asked)) +
                    "\n  " + operation.name + " needs compute capability " +
                    version(operation.needs) + ", and this device has " + version(capability_) +
                    "\n  likely: the launcher does not refuse the device\n");
  if (lanes != 0xffffffff && checks)
    checks->lanes_absent(operation.name, warp, lanes, place_of_operation(asked));
  MatrixParts parts{};
  for (size_t l = 0; l < 32; ++l)
    if (lanes >> l & 1)
      parts[l] = reinterpret_cast<void*>(threads_[static_cast<size_t>(warp) + l].value);
  const int me = current_;
  operation.run(*this, parts);
  current_ = me;
}

void Worker::settle() {
  if (checks) checks->settle();
  if (trace) trace->settle();
}

/// Has `other` come to the operation that `asked` waits at?
bool Worker::is_at_same(const Thread& other, const Thread& asked) const {
  if (other.state != State::at_warp_operation || other.mask != asked.mask ||
      other.warp_kind != asked.warp_kind)
    return false;
  if (asked.warp_kind != WarpKind::matrix || other.instruction == asked.instruction) return true;
  // The compiler may have made two instructions of one line.
  const SourcePlace a = place_of_operation(other), b = place_of_operation(asked);
  return other.operation == asked.operation && a.line == b.line && a.path == b.path;
}

/// If every living lane that `thread`'s mask names has come to the same operation: does it.
bool Worker::try_finish_warp(int thread) {
  const Thread& asked = threads_[thread];
  if (asked.warp_kind == WarpKind::converge) return false;
  const int warp = thread / 32 * 32;
  const int lanes = std::min(32, static_cast<int>(threads_.size()) - warp);
  unsigned here = 0;
  for (int l = lanes - 1; l >= 0; --l) {  // the last lanes are those that come last
    const Thread& other = threads_[warp + l];
    if (!(asked.mask >> l & 1) || other.state == State::finished) continue;
    if (!is_at_same(other, asked)) return false;
    here |= 1u << l;
  }
  const WarpKind kind = asked.warp_kind;
  uint64_t values[32] = {};
  for (int l = 0; l < lanes; ++l) values[l] = threads_[warp + l].value;

  uint64_t combined = 0;
  bool first = true;
  const bool is_signed = asked.is_signed;
  for (int l = 0; l < 32; ++l) {
    if (!(here >> l & 1)) continue;
    const uint64_t v = values[l];
    const auto less = [&](uint64_t a, uint64_t b) {
      return is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
    };
    switch (kind) {
      case WarpKind::ballot:
      case WarpKind::all:
      case WarpKind::any:
        combined |= v << l;
        break;
      case WarpKind::add:
        combined = static_cast<uint32_t>(combined + v);
        break;
      case WarpKind::min:
        combined = first || less(v, combined) ? v : combined;
        break;
      case WarpKind::max:
        combined = first || less(combined, v) ? v : combined;
        break;
      case WarpKind::bit_and:
        combined = first ? v : combined & v;
        break;
      case WarpKind::bit_or:
        combined |= v;
        break;
      case WarpKind::bit_xor:
        combined ^= v;
        break;
      default:
        break;
    }
    first = false;
  }
  if (kind == WarpKind::matrix) run_matrix(warp, here);
  if (kind == WarpKind::all) combined = combined == here;
  if (kind == WarpKind::any) combined = combined != 0;

  for (int l = 0; l < 32; ++l) {
    if (!(here >> l & 1)) continue;
    Thread& lane = threads_[warp + l];
    if (kind == WarpKind::shuffle) {
      // The value of a lane that does not take part is undefined.
      const bool is_here = here >> lane.source & 1;
      lane.value = is_here ? values[lane.source] : ~uint64_t{0};
      if (!is_here && checks)
        checks->value_of_absent_lane(warp + l, lane.source, why_absent(warp + l, lane.source),
                                     place_with_callers(lane));
    } else if (kind == WarpKind::match) {
      uint64_t same = 0;
      for (int o = 0; o < 32; ++o)
        if ((here >> o & 1) && values[o] == values[l]) same |= uint64_t{1} << o;
      lane.value = same;
    } else {
      lane.value = combined;
    }
    lane.state = State::ready;
    --waiting_lanes_;
    if (warp + l != current_) ready_.push_back(warp + l);
  }
  // When a finishing thread completes the operation it is current_, but it is not among these
  // lanes.
  const unsigned living = living_lanes(warp);
  if (checks && kind != WarpKind::matrix) checks->warp_passed(warp / 32, here, living);
  if (trace) tell_warp_operation(warp, asked, here, living);
  return true;
}

void Worker::tell_warp_operation(int warp, const Thread& asked, unsigned lanes, unsigned living) {
  WarpOperation operation{
      .kind = asked.warp_kind, .place = place_of_operation(asked), .lanes = lanes};
  for (size_t l = 0; l < 32 && trace->is_recording(); ++l)
    if (lanes >> l & 1) operation.source[l] = threads_[static_cast<size_t>(warp) + l].source;
  trace->warp_passed(warp / 32, operation, lanes == living);
}

/// Nobody can go on but those at coalesced_threads(): the lanes of a warp at one place go on
/// together. False if there are none.
bool Worker::converge() {
  const auto is_at = [&](int thread) {
    return threads_[thread].state == State::at_warp_operation &&
           threads_[thread].warp_kind == WarpKind::converge;
  };
  const int count = static_cast<int>(threads_.size());
  bool found = false;
  for (int t = 0; t < count; ++t) {
    if (!is_at(t)) continue;
    const Where where = threads_[t].where;
    const int warp = t / 32 * 32;
    uint64_t lanes = 0;
    for (int other = t; other < std::min(warp + 32, count); ++other)
      if (is_at(other) && threads_[other].where.line() == where.line() &&
          threads_[other].where.column() == where.column() &&
          std::strcmp(threads_[other].where.file_name(), where.file_name()) == 0)
        lanes |= uint64_t{1} << (other - warp);
    for (int l = 0; l < 32; ++l) {
      if (!(lanes >> l & 1)) continue;
      threads_[warp + l].value = lanes;
      threads_[warp + l].state = State::ready;
      ready_.push_back(warp + l);
      --waiting_lanes_;
    }
    found = true;
  }
  return found;
}

}  // namespace simulator
