// One line of the table: what it launches, and what became of it. Programs meet Row and Launched
// only; the rest is this room's own.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"
#include "common/backend/profile.hpp"
#include "common/compare/compare.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/step.hpp"
#include "common/measure/roofline.hpp"
#include "common/measure/timing.hpp"

namespace tutorial {

class Options;  // options.hpp

/// What to launch. What is left empty is the problem's.
struct Row {
  std::string name;
  Tile tile = {};
  std::string needs = {};                                // as in Step
  std::function<void(float*)> launch = {};               // writes the output; timed
  std::function<void(__nv_bfloat16*)> launch_bf16 = {};  // instead, where the output is bf16
  std::function<void(__half*)> launch_fp16 = {};         // … or fp16
  std::function<void(float*)> before = {};  // before each launch, not timed: restores what it reads
  std::function<std::vector<Asked>()> asked = {};  // of global memory, by a launch; as in Step
  std::vector<int64_t> shape = {};                 // of the output
  Cost cost = {};         // for this row's own "of bound" (a stage of a pipeline)
  bool is_stage = false;  // indented in the table; no "of vendor"; not what --output writes
};

enum class Verdict { ok, wrong, failed, refused, skipped, sampled };

struct Result {
  std::string name;
  int number = 0;  // the step's place in the list, from 1; 0: it is not in the list
  bool is_stage = false, is_vendor = false;
  Verdict verdict = Verdict::ok;
  std::string message;                      // why it was not checked: failed, refused, skipped
  double max_error = 0, bound = 0;          // of the check
  Cost cost = {};                           // the least work for this row
  double bound_ms = 0;                      // the shortest time that the device's ceilings allow
  bool by_arithmetic = false;               // which ceiling that is
  std::optional<Timing> time = {};          // a right result, on a backend with a clock
  bool is_counted = false;                  // a right result, on a backend that counts
  Counts counts = {};                       // of all its kernels
  int64_t blocks = 0, threads = 0;          // likewise
  std::vector<KernelProfile> kernels = {};  // that one launch of the row launched
  double simulated_seconds = 0;             // what that took, on a backend without a clock
};

/// Did its output come to a comparison?
inline bool was_checked(const Result& result) {
  return result.verdict == Verdict::ok || result.verdict == Verdict::wrong;
}

/// Accesses to shared memory by single threads, asynchronous copies among the stores.
inline int64_t shared_loads(const Counts& counts) {
  return counts.shared_loads.lanes;
}
inline int64_t shared_stores(const Counts& counts) {
  return counts.shared_stores.lanes + counts.async_copies;
}

/// What all rows have in common.
struct Problem {
  std::string device, line;  // as the program's head shows them
  Cost cost = {};
  std::vector<int64_t> output_shape = {};
};

/// What the rows left behind so far.
struct RunOutcome {
  std::vector<Result> results;
  std::string device_lost;  // the name of the row after which the device does nothing more
  Tensor output;            // for --output: the last right result of a step
  std::string output_step;  // and that step
  std::string profile_csv;  // for --profile-csv
  std::string sample_csv;   // for --sample-csv
  TakenTrace trace;         // for --trace
  bool is_long = false;     // so that progress is told
  std::map<std::string, std::string> refusals;  // steps that were asked, and why they cannot; or ""
};

/// What stays the same from row to row.
struct Run {
  const Options& options;
  const Problem& problem;
  RunOutcome& outcome;
};

enum class Role { step, vendor };

/// A row that was launched: its output, to compare. False where there is none, because the step is
/// not selected, could not be launched, or has nothing to do: the table then has its line already.
class Launched {
 public:
  Launched();
  Launched(Launched&&) noexcept;
  ~Launched();
  explicit operator bool() const { return state_ != nullptr; }
  /// What else the launch wrote.
  std::vector<float> fetch(const DeviceBuffer<float>& more);
  /// The same where it is on the host already, as numbers.
  std::vector<float> fetch(std::vector<float> more);

  std::span<const float> output;  // on the host; of an output of 16 bits, widened
  Layout layout;                  // its shape and name, and the step's tile

  struct State;  // row.cpp

 private:
  friend Launched launch_row(const Row& row, Role role, const Run& run);
  friend bool add_row(Launched& launched, const Comparison& comparison, const Run& run);
  std::unique_ptr<State> state_;
};

/// Sees what a row wrote when it has come to the host, before it is compared, and may change it:
/// for the tests of a program (common/testing/program_run.hpp). `before` elements of the same
/// launch came already.
using Spoiler =
    std::function<void(const std::string& row, int64_t before, std::span<float> values)>;
inline Spoiler spoiler;

/// Launches once on a poisoned output. Where nothing is left to compare, adds a result to the
/// outcome.
Launched launch_row(const Row& row, Role role, const Run& run);

/// Times or counts what is right, reports what is wrong, and adds a result to the outcome. Returns
/// true when it was right.
bool add_row(Launched& launched, const Comparison& comparison, const Run& run);

}  // namespace tutorial
