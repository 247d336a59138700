// Records one launch for a trace: it gets the requests of warps from the profile's walk (trace.hpp)
// and tells the elements of which array they touch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"
#include "common/simulator/count/warp_request.hpp"
#include "common/simulator/world/symbols.hpp"
#include "device_functions.h"
#include "simulator/launch_site.h"

namespace simulator {

enum class Access : uint8_t;

/// A shuffle, a vote, a __syncwarp(), an operation on matrices of the lanes that made it together.
struct WarpOperation {
  WarpKind kind;
  SourcePlace place;
  uint32_t lanes;                // a bit a lane
  std::array<int, 32> source{};  // of a shuffle: the lane that each asked for
};

class Recorder {
 public:
  Recorder(const Launch& launch, const std::string& kernel, int64_t most_events);

  void begin_block(uint32_t number) { block_ = number; }
  void declare_shared(const char* name, uintptr_t begin, size_t bytes, const SharedShape& shape,
                      bool is_dynamic);
  /// `stored` are the bytes that a store wrote, lane after lane.
  void request(int warp, uint32_t instruction, Access access, const WarpRequest& request,
               const std::vector<uint8_t>& stored);
  void barrier(Where where);
  void warp_operation(int warp, const WarpOperation& operation);

  tutorial::LaunchTrace take();

 private:
  /// Where an array lies; the one at the same place in trace_.arrays.
  struct Range {
    uintptr_t begin;
    size_t bytes;
    bool is_dynamic;
    bool holds(uintptr_t address) const { return address - begin < bytes; }
  };
  tutorial::TraceEvent* add(tutorial::TraceEvent::What what, int warp, int place);
  int place_of_instruction(uint32_t instruction);
  int add_place(const tutorial::TracedPlace& place);
  int array_at(uintptr_t address, bool is_shared);
  int add_array(const std::string& name, Range range, bool is_shared, ElementType type,
                const std::vector<int64_t>& inner_shape);
  void add_parameters(const Launch& launch);
  int add_unknown(uintptr_t address, bool is_shared);

  tutorial::LaunchTrace trace_;
  const size_t most_events_;
  int64_t block_ = 0;
  std::vector<Range> ranges_;
  std::map<uint32_t, int> places_;  // of instructions
  int unknown_ = 0;                 // arrays of global memory that no parameter leads to
};

/// For the launch that begins now: null unless it is the one to record.
Recorder* begin_recording(const Launch& launch);
/// The launch that was recorded has ended.
void end_recording();
/// The launch has done nothing: it is made again, in clusters.
void forget_recording(const Launch& launch);

}  // namespace simulator
