// One launch of a kernel, event by event: which lanes of which warp touch which elements, and when.
// The CPU backend records it (common/simulator/count/recorder.cpp); on a GPU nothing is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutorial {

struct TracedArray {
  std::string name;  // the kernel's parameter, or that of the __shared__ array
  bool is_shared = false;
  std::vector<int64_t> shape;
  std::string type;  // "float", "int32" …; "other": no scalar
  int64_t element_bytes = 1;
  uintptr_t begin = 0;        // of global memory
  int64_t offset_bytes = -1;  // of shared memory: in the block's, for the banks
};

/// A line of the source.
struct TracedPlace {
  std::string path;
  int line = 0;
  bool operator==(const TracedPlace&) const = default;
};

/// A request of a warp (all lanes that make an access together), an operation of a warp, or a
/// barrier of a block.
struct TraceEvent {
  enum class What { load, store, atomic, copy, barrier, warp };
  int64_t block = 0;  // its number in the grid
  int warp = -1;      // in the block; -1: the whole block's
  What what = What::load;
  int place = 0;                       // in LaunchTrace::places
  int array = -1;                      // in LaunchTrace::arrays; -1: none
  int width = 1;                       // elements that a lane touches
  std::vector<int64_t> lanes = {};     // of those that take part
  std::vector<int64_t> elements = {};  // the first that each of them touches
  std::vector<float> values = {};      // of a store of floats: `width` from each lane
  const char* operation = "";          // of a warp: "shuffle", "sync" …
  std::vector<int64_t> from = {};      // of a shuffle: the lane whose value each lane gets
};

struct LaunchTrace {
  std::string kernel, path;  // and the file that it stands in; "" where that is not known
  int64_t grid[3] = {}, block[3] = {};
  std::vector<TracedPlace> places;
  std::vector<TracedArray> arrays;
  std::vector<TraceEvent> events;  // block after block; in each in an order that could have been
  bool is_complete = true;         // false: it has more events than were asked for
};

/// What was recorded since start_trace(), if anything, and which other kernels were launched.
struct TakenTrace {
  std::optional<LaunchTrace> launch;
  std::vector<std::string> others;
  bool were_clusters = false;  // among the launches: of these there is no trace
};

/// From now on the first launch of this kernel is recorded ("": of the first kernel that comes).
void start_trace(const std::string& kernel, int64_t most_events);
/// Records no longer.
TakenTrace take_trace();

}  // namespace tutorial
