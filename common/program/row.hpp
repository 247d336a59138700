// One line of the table: what it launches, and what became of it.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"
#include "common/backend/profile.hpp"
#include "common/compare/compare.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/step.hpp"
#include "common/measure/roofline.hpp"
#include "common/measure/timing.hpp"

namespace tutorial {

struct Declared;    // options.hpp
struct RunOptions;  // options.hpp

/// Compares the output (on the host) with the reference. `layout` comes with the shape and the
/// step's tile filled in.
using Check = std::function<Comparison(std::span<const float> got, const Layout& layout)>;

/// What is left empty is the problem's.
struct Row {
  std::string name;
  Tile tile = {};
  std::string needs = {};                                // as in Step
  std::function<void(float*)> launch = {};               // writes the output; timed
  std::function<void(__nv_bfloat16*)> launch_bf16 = {};  // instead, where the output is bf16
  std::function<void(float*)> before = {};  // before each launch, not timed: restores what it reads
  std::vector<int64_t> shape = {};          // of the output
  Check check = {};
  Cost cost = {};         // for this row's own "of bound" (a stage of a pipeline)
  bool is_stage = false;  // indented in the table; no "of vendor"; not what --output writes
};

enum class Verdict { ok, wrong, failed, refused, skipped };

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
  std::string output_name = "C";
  std::map<std::string, double> symbols = {};  // of the formulas in the steps' headers
  Check check = {};
};

/// What the rows left behind so far.
struct Outcome {
  std::vector<Result> results;
  std::string device_lost;  // the name of the row after which the device does nothing more
  Tensor output;            // for --output: the last right result of a step
  std::string output_step;  // and that step
  std::string profile_csv;  // for --profile-csv
  TakenTrace trace;         // for --trace
  bool is_long = false;     // so that progress is told
  std::map<std::string, std::string> refusals;  // steps that were asked, and why they cannot; or ""
};

/// What stays the same from row to row.
struct Run {
  const std::string& program;
  const Declared& declared;
  const RunOptions& options;
  const Problem& problem;
  Outcome& outcome;
};

enum class Role { step, vendor };

/// Launches once on a poisoned output, checks, then times or counts what is right; reports what is
/// wrong. Adds a result to the outcome. Returns true when the row was right.
bool run_row(const Row& row, Role role, const Run& run);

}  // namespace tutorial
