#include "common/simulator/count/recorder.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>

#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/names.hpp"
#include "common/simulator/translate/kernel_parameters.hpp"
#include "common/simulator/world/symbols.hpp"

namespace simulator {

using tutorial::TraceEvent;
using What = TraceEvent::What;

namespace {

std::string without_arguments(const std::string& kernel) {
  return kernel.substr(0, kernel.find('<'));
}

std::vector<std::string> names_of_parameters(const std::string& path, const std::string& kernel) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return kernel_parameters(text.str(), without_arguments(kernel));
}

bool is_of_shared(Access access) {
  return access == Access::copy_to || access == Access::part_copy_to ||
         access == Access::shared_load || access == Access::shared_store ||
         access == Access::shared_atomic || access == Access::matrix_load ||
         access == Access::matrix_store;
}

What what_is(Access access) {
  switch (access) {
    case Access::load:
    case Access::shared_load:
    case Access::matrix_load:
      return What::load;
    case Access::store:
    case Access::shared_store:
    case Access::matrix_store:
      return What::store;
    case Access::atomic:
    case Access::shared_atomic:
      return What::atomic;
    default:
      return What::copy;
  }
}

const char* name_of(WarpKind kind) {
  switch (kind) {
    case WarpKind::sync:
    case WarpKind::converge:
      return "sync";
    case WarpKind::shuffle:
      return "shuffle";
    case WarpKind::ballot:
    case WarpKind::all:
    case WarpKind::any:
      return "vote";
    case WarpKind::match:
      return "match";
    case WarpKind::matrix:
      return "matrix";
    default:
      return "reduction";
  }
}

}  // namespace

Recorder::Recorder(const Launch& launch, const std::string& kernel, int64_t most_events)
    : most_events_(static_cast<size_t>(most_events)) {
  trace_.kernel = kernel;
  if (launch.address != nullptr) trace_.path = source_place(launch.address).path;
  const dim3 sizes[] = {launch.grid, launch.block};
  for (int64_t* to : {trace_.grid, trace_.block}) {
    const dim3& size = sizes[to == trace_.block];
    to[0] = size.x, to[1] = size.y, to[2] = size.z;
  }
  add_parameters(launch);
}

// ---- Arrays

int Recorder::add_array(const std::string& name, Range range, bool is_shared, ElementType type,
                        const std::vector<int64_t>& inner_shape) {
  const int64_t inner = std::accumulate(inner_shape.begin(), inner_shape.end(),
                                        static_cast<int64_t>(type.bytes), std::multiplies<>());
  std::vector<int64_t> shape = {static_cast<int64_t>(range.bytes) / inner};
  shape.insert(shape.end(), inner_shape.begin(), inner_shape.end());
  trace_.arrays.push_back({.name = name,
                           .is_shared = is_shared,
                           .shape = shape,
                           .type = type.name,
                           .element_bytes = static_cast<int64_t>(type.bytes),
                           .begin = is_shared ? 0 : range.begin});
  ranges_.push_back(range);
  return static_cast<int>(ranges_.size()) - 1;
}

/// The arrays that the kernel's parameters point to, in their order. Of two pointers into one
/// allocation each has what lies before the next. The pointers in a struct have no names here: the
/// first one in the parameter p is "p.1".
void Recorder::add_parameters(const Launch& launch) {
  struct Found {
    std::string name;
    uintptr_t begin;
    ElementType type;
  };
  std::vector<Found> found;
  const std::vector<std::string> names = names_of_parameters(trace_.path, trace_.kernel);
  const auto add = [&](const std::string& name, uintptr_t begin, ElementType type) {
    const bool is_known = std::any_of(found.begin(), found.end(),
                                      [&](const Found& other) { return other.begin == begin; });
    if (!is_known) found.push_back({name, begin, type});
  };
  for (size_t i = 0; i < launch.argument_count; ++i) {
    const Argument& argument = launch.arguments[i];
    std::string name = i < names.size() ? names[i] : "";
    if (name.empty()) name = "parameter " + std::to_string(i + 1);
    int inside = 0;
    for (size_t at = 0; at + sizeof(uintptr_t) <= argument.bytes; at += sizeof(uintptr_t)) {
      uintptr_t address;
      std::memcpy(&address, static_cast<const char*>(argument.value) + at, sizeof address);
      const Allocation allocation = find_allocation(reinterpret_cast<const void*>(address));
      if (allocation.bytes == 0) continue;
      if (argument.is_pointer)
        add(name, address, argument.points_to);
      else if (address == allocation.begin)  // else some number that looks like an address
        add(name + "." + std::to_string(++inside), address,
            {"other", std::max<size_t>(allocation.element, 1)});
    }
  }
  for (const Found& array : found) {
    const Allocation allocation = find_allocation(reinterpret_cast<const void*>(array.begin));
    uintptr_t end = allocation.begin + allocation.bytes;
    for (const Found& other : found)
      if (other.begin > array.begin) end = std::min(end, other.begin);
    add_array(array.name, {array.begin, end - array.begin, false}, false, array.type, {});
  }
}

void Recorder::declare_shared(const char* name, uintptr_t begin, size_t bytes,
                              const SharedShape& shape, bool is_dynamic) {
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (trace_.arrays[i].is_shared && ranges_[i].begin == begin) return;  // of an earlier block
  std::vector<int64_t> inner;
  for (int d = 1; d < shape.rank; ++d) inner.push_back(static_cast<int64_t>(shape.extents[d]));
  const auto parts = static_cast<int64_t>(shape.element / shape.type.bytes);
  if (parts > 1) inner.push_back(parts);
  add_array(name, {begin, bytes, is_dynamic}, true, shape.type, inner);
}

/// Memory that has no name: of an allocation that no parameter leads to, say through a pointer that
/// another array holds, what lies between the arrays known so far.
int Recorder::add_unknown(uintptr_t address, bool is_shared) {
  if (is_shared) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(thread_local_base());
    for (const SharedArray& array : shared_arrays())
      if (address - base - array.offset < array.bytes)
        return add_array(short_name(array.symbol), {base + array.offset, array.bytes, false}, true,
                         {}, {});
    return -1;
  }
  const Allocation allocation = find_allocation(reinterpret_cast<const void*>(address));
  if (allocation.bytes == 0) return -1;  // the checks have reported it
  uintptr_t begin = allocation.begin, end = begin + allocation.bytes;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (trace_.arrays[i].is_shared) continue;
    const uintptr_t other_end = ranges_[i].begin + ranges_[i].bytes;
    if (other_end <= address) begin = std::max(begin, other_end);
    if (ranges_[i].begin > address) end = std::min(end, ranges_[i].begin);
  }
  return add_array("global " + std::to_string(++unknown_), {begin, end - begin, false}, false,
                   {"other", std::max<size_t>(allocation.element, 1)}, {});
}

int Recorder::array_at(uintptr_t address, bool is_shared) {
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].holds(address)) return static_cast<int>(i);
  return add_unknown(address, is_shared);
}

// ---- Events

int Recorder::add_place(const tutorial::TracedPlace& place) {
  const auto found = std::find(trace_.places.begin(), trace_.places.end(), place);
  const auto index = static_cast<int>(found - trace_.places.begin());
  if (found == trace_.places.end()) trace_.places.push_back(place);
  return index;
}

int Recorder::place_of_instruction(uint32_t instruction) {
  const auto known = places_.find(instruction);
  if (known != places_.end()) return known->second;
  const SourcePlace place =
      source_place(reinterpret_cast<const void*>(program_start() + instruction));
  return places_[instruction] = add_place({place.path, place.line});
}

TraceEvent* Recorder::add(What what, int warp, int place) {
  if (trace_.events.size() == most_events_) {
    trace_.is_complete = false;
    return nullptr;
  }
  trace_.events.push_back({.block = block_, .warp = warp, .what = what, .place = place});
  return &trace_.events.back();
}

void Recorder::request(int warp, uint32_t instruction, Access access, const WarpRequest& request,
                       const std::vector<uint8_t>& stored) {
  const size_t first_event = trace_.events.size();
  int nth = 0;  // of the lanes that take part
  for (int lane = 0; lane < 32 && trace_.is_complete; ++lane) {
    if (!(request.lanes >> lane & 1)) continue;
    const uintptr_t address = request.address[static_cast<size_t>(lane)];
    const int index = array_at(address, is_of_shared(access));
    // Of lanes that go to different arrays each array has an event of its own.
    const auto begin = trace_.events.begin() + static_cast<long>(first_event);
    const auto same = std::find_if(begin, trace_.events.end(),
                                   [&](const TraceEvent& event) { return event.array == index; });
    TraceEvent* event = same != trace_.events.end()
                            ? &*same
                            : add(what_is(access), warp, place_of_instruction(instruction));
    if (event == nullptr) return;
    event->array = index;
    event->lanes.push_back(lane);
    const size_t offset = static_cast<size_t>(nth++) * request.bytes;  // in `stored`
    if (index < 0) continue;
    const tutorial::TracedArray& array = trace_.arrays[static_cast<size_t>(index)];
    const int64_t size = array.element_bytes;
    event->elements.push_back(
        static_cast<int64_t>(address - ranges_[static_cast<size_t>(index)].begin) / size);
    event->width = static_cast<int>(std::max<int64_t>(request.bytes / size, 1));
    if (stored.empty() || array.type != "float" || request.bytes % sizeof(float) != 0) continue;
    const size_t first = event->values.size();
    event->values.resize(first + request.bytes / sizeof(float));
    std::memcpy(&event->values[first], &stored[offset], request.bytes);
  }
}

void Recorder::barrier(Where where) {
  add(What::barrier, -1, add_place({where.file_name(), static_cast<int>(where.line())}));
}

void Recorder::warp_operation(int warp, const WarpOperation& operation) {
  TraceEvent* event =
      add(What::warp, warp, add_place({operation.place.path, operation.place.line}));
  if (event == nullptr) return;
  event->operation = name_of(operation.kind);
  for (int lane = 0; lane < 32; ++lane) {
    if (!(operation.lanes >> lane & 1)) continue;
    event->lanes.push_back(lane);
    if (operation.kind == WarpKind::shuffle)
      event->from.push_back(operation.source[static_cast<size_t>(lane)]);
  }
}

tutorial::LaunchTrace Recorder::take() {
  // As they would lie on a GPU, whose arrays have no gaps between them: those of fixed size in the
  // order in which the blocks came to them, then the dynamic one.
  int64_t offset = 0;
  for (const bool is_dynamic : {false, true})
    for (size_t i = 0; i < ranges_.size(); ++i) {
      tutorial::TracedArray& array = trace_.arrays[i];
      if (!array.is_shared || ranges_[i].is_dynamic != is_dynamic) continue;
      array.offset_bytes = (offset + 15) / 16 * 16;
      offset = array.offset_bytes + static_cast<int64_t>(ranges_[i].bytes);
    }
  return std::move(trace_);
}

// ---- Which launch it is

namespace {

std::mutex mutex;
bool wanted = false;
std::string wanted_kernel;
int64_t most = 0;
std::unique_ptr<Recorder> active;
tutorial::TakenTrace taken;

std::string name_of(const Launch& launch) {
  return kernel_name(launch.address, launch.kernel);
}

}  // namespace

Recorder* begin_recording(const Launch& launch) {
  const std::lock_guard lock(mutex);
  if (!wanted) return nullptr;
  // The blocks of a cluster run in turns, and the events of a trace come block by block.
  if (launch.cluster.x * launch.cluster.y * launch.cluster.z > 1) {
    taken.were_clusters = true;
    return nullptr;
  }
  const std::string name = name_of(launch);
  const bool is_first = !taken.launch;
  if (is_first && (wanted_kernel.empty() || wanted_kernel == name ||
                   wanted_kernel == without_arguments(name))) {
    active = std::make_unique<Recorder>(launch, name, most);
    return active.get();
  }
  const bool is_listed =
      std::find(taken.others.begin(), taken.others.end(), name) != taken.others.end();
  if (!is_listed && !(taken.launch && taken.launch->kernel == name)) taken.others.push_back(name);
  return nullptr;
}

void end_recording() {
  const std::lock_guard lock(mutex);
  taken.launch = active->take();
  active.reset();
}

void forget_recording(const Launch& launch) {
  const std::lock_guard lock(mutex);
  active.reset();
  std::erase(taken.others, name_of(launch));
}

}  // namespace simulator

namespace tutorial {

void start_trace(const std::string& kernel, int64_t most_events) {
  const std::lock_guard lock(simulator::mutex);
  simulator::wanted = true;
  simulator::wanted_kernel = kernel;
  simulator::most = most_events;
  simulator::taken = {};
}

TakenTrace take_trace() {
  const std::lock_guard lock(simulator::mutex);
  simulator::wanted = false;
  return std::move(simulator::taken);
}

}  // namespace tutorial
