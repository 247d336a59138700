// One row: poison the output and launch; once the output is compared, time or count what is right.
#include "common/program/row.hpp"

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "common/backend/backend.hpp"
#include "common/backend/sample.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/program/options.hpp"
#include "common/program/progress.hpp"
#include "common/program/sample_csv.hpp"
#include "common/program/source_profile.hpp"
#include "common/program/table_text.hpp"
#include "common/program/trace_file.hpp"

namespace tutorial {
namespace {

/// A launcher threw Error: it cannot do this problem, and says why.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The last two extents are a matrix, the others its batch.
Layout layout_of(const std::vector<int64_t>& shape, const std::string& name, const Tile& tile) {
  Layout layout;
  layout.name = name;
  layout.tile = tile;
  const size_t dimensions = shape.size();
  if (dimensions >= 1) layout.cols = shape[dimensions - 1];
  if (dimensions >= 2) layout.rows = shape[dimensions - 2];
  for (size_t i = 0; i + 2 < dimensions; ++i) layout.batch *= shape[i];
  return layout;
}

// After most errors the device goes on; after some (an illegal address, on a GPU) every later call
// of this process fails with the same error.
bool device_goes_on() {
  cudaGetLastError();  // clears an error that can be cleared
  return cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

void report_wrong(const Run& run, const Result& result, const Comparison& comparison) {
  std::cout << '\n'
            << run.options.usage.program << " · " << (result.is_vendor ? "" : "step ")
            << result.name << " · " << sizes_text(run.options) << " · WRONG\n"
            << comparison.report;
  if (!comparison.report.ends_with('\n')) std::cout << '\n';
  std::cout << std::flush;
}

void keep_profiles(const Run& run, std::vector<KernelProfile> profiles,
                   const std::vector<Asked>& asked, Result& result) {
  const std::string sizes = sizes_text(run.options);
  if (run.options.run.profile && !result.is_vendor)
    print_profile("profile of " + result.name + " · " + sizes, profiles, asked);
  std::string& csv = run.outcome.profile_csv;
  if (csv.empty()) csv = profile_csv_heads();
  csv += profile_csv_lines(run.options.usage.program, sizes, result.name, profiles);
  for (const KernelProfile& kernel : profiles) {
    result.counts += kernel.total;
    result.blocks += kernel.blocks;
    result.threads += kernel.threads;
  }
  result.kernels = std::move(profiles);
}

bool is_step(const Result& result) {
  return result.number > 0;
}

/// How this row stands among the steps.
Underway underway(const Run& run, const Result& result) {
  Underway row = {.name = result.name};
  const auto refuses = [&](const std::string& step) {
    const auto why = run.outcome.refusals.find(step);
    return why != run.outcome.refusals.end() && !why->second.empty();
  };
  for (const ListedStep& step : run.options.usage.steps)
    row.steps_after += run.options.selected(step.name) && !refuses(step.name);
  for (const Result& done : run.outcome.results) {
    if (!is_step(done) || refuses(done.name)) continue;
    --row.steps_after;
    row.steps_done += was_checked(done);
    row.seconds_of_done += done.simulated_seconds;
  }
  row.steps_after -= is_step(result);
  return row;
}

}  // namespace

struct Launched::State {
  State(const Row& row, const Result& result, const std::vector<int64_t>& shape)
      : row(row),
        result(result),
        shape(shape),
        floats(row.launch ? element_count(shape) : 0),
        narrow(row.launch_bf16 ? element_count(shape) : 0),
        halves(row.launch_fp16 ? element_count(shape) : 0) {}

  Row row;
  Result result;
  std::vector<int64_t> shape;
  // The output, in the type that the row writes: all NaN at first.
  DeviceBuffer<float> floats;
  DeviceBuffer<__nv_bfloat16> narrow;
  DeviceBuffer<__half> halves;
  std::vector<float> got;  // the output on the host
  int64_t fetched = 0;     // elements that came to the host
  std::vector<KernelProfile> profiles;
  std::vector<Asked> asked;
  std::optional<Progress> progress;

  void prepare() {
    if (row.before) row.before(floats.data());
  }
  void launch() {
    if (row.launch_bf16)
      row.launch_bf16(narrow.data());
    else if (row.launch_fp16)
      row.launch_fp16(halves.data());
    else
      row.launch(floats.data());
  }
  /// Waits for the kernel.
  std::vector<float> to_host() const {
    if (row.launch_bf16) return widened<__nv_bfloat16>(narrow.to_host());
    return row.launch_fp16 ? widened<__half>(halves.to_host()) : floats.to_host();
  }
  std::vector<float> handed_over(std::vector<float> values) {
    if (spoiler) spoiler(row.name, fetched, values);
    fetched += static_cast<int64_t>(values.size());
    return values;
  }
  const void* data() const {
    if (row.launch_bf16) return narrow.data();
    return row.launch_fp16 ? static_cast<const void*>(halves.data()) : floats.data();
  }
};

Launched::Launched() = default;
Launched::Launched(Launched&&) noexcept = default;
Launched::~Launched() = default;

std::vector<float> Launched::fetch(const DeviceBuffer<float>& more) {
  return state_->handed_over(more.to_host());
}
std::vector<float> Launched::fetch(std::vector<float> more) {
  return state_->handed_over(std::move(more));
}

namespace {

/// As long as it lives, a kernel that asks for ten times what the row should is ended.
class Limited {
 public:
  explicit Limited(const std::vector<Asked>& asked) { set_expected(asked); }
  ~Limited() { set_expected({}); }
  Limited(const Limited&) = delete;
};

/// Launches the row; of a step that is to be traced keeps the trace, of a right result or a wrong
/// one, but not of a launch that failed.
void launch_once(const Run& run, Launched::State& row) {
  const RunOptions& options = run.options.run;
  const bool traces = !options.trace_path.empty() && is_step(row.result);
  if (traces) start_trace(options.trace_kernel, kMostTraceEvents);
  try {
    if (row.row.asked && !device_has_clock()) row.asked = row.row.asked();
    const Limited limited(row.asked);
    row.launch();
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  CUDA_CHECK_LAUNCH();
  if (!traces) return;
  CUDA_CHECK(cudaDeviceSynchronize());
  run.outcome.trace = take_trace();
  if (run.outcome.trace.launch)
    give_shapes(*run.outcome.trace.launch, run.options, row.data(), row.shape);
}

/// Launches on a poisoned output, and fetches it.
void launch_and_fetch(const Run& run, Launched::State& row) {
  row.prepare();
  start_profile();
  if (!device_has_clock()) row.progress.emplace(underway(run, row.result), run.outcome.is_long);
  launch_once(run, row);
  row.got = row.handed_over(row.to_host());
  if (row.progress) row.result.simulated_seconds = row.progress->stop();
  row.profiles = take_profile(run.options.run.profile && !row.result.is_vendor);
}

/// Runs a sample of the blocks, and keeps what it asked for.
void sample(const Run& run, Launched::State& row) {
  row.prepare();
  start_sample();
  try {
    launch_once(run, row);
    CUDA_CHECK(cudaDeviceSynchronize());
  } catch (...) {
    take_sample();
    throw;
  }
  std::string& csv = run.outcome.sample_csv;
  if (csv.empty()) csv = sample_csv_heads();
  csv += sample_csv_lines(run.options.usage.program, sizes_text(run.options), row.result,
                          take_sample());
  row.result.verdict = Verdict::sampled;
  row.result.message = "a few of its blocks ran";
}

/// Times or counts a right result, and keeps it where it is to be written.
void measure(const Run& run, Launched::State& row) {
  keep_profiles(run, std::move(row.profiles), row.asked, row.result);
  row.result.is_counted = !device_has_clock();
  if (run.options.times() && !row.got.empty())
    row.result.time =
        time_launch([&] { row.launch(); }, run.options.run.repeats, [&] { row.prepare(); });
  if (!run.options.run.output_path.empty() && is_step(row.result)) {
    run.outcome.output = {row.shape, std::move(row.got)};
    run.outcome.output_step = row.row.name;
  }
}

/// The result of a row of which nothing is known yet.
Result begun(const Row& row, Role role, const Run& run) {
  Result result;
  result.name = row.name;
  result.is_stage = row.is_stage;
  result.is_vendor = role == Role::vendor;
  const auto& steps = run.options.usage.steps;
  for (size_t i = 0; i < steps.size(); ++i)
    if (role == Role::step && steps[i].name == row.name) result.number = static_cast<int>(i) + 1;
  result.cost = row.cost.flop > 0 || row.cost.bytes > 0 ? row.cost : run.problem.cost;
  if (run.options.times()) {
    const Ceiling& ceiling = measured_ceiling(result.cost.arithmetic);
    result.bound_ms = bound_ms(result.cost, ceiling);
    result.by_arithmetic = bound_by_arithmetic(result.cost, ceiling);
  }
  return result;
}

/// Runs what may fail. False where it did; the result says how.
bool attempt(const Run& run, Result& result, const std::function<void()>& what) {
  const auto ends_as = [&](Verdict verdict, const std::string& why) {
    result.verdict = verdict;
    result.message = why;
    return false;
  };
  try {
    what();
    return true;
  } catch (const Refused& refused) {
    return ends_as(Verdict::refused, refused.what());
  } catch (const CudaError& error) {
    const std::string finding = last_finding();
    if (!device_goes_on()) run.outcome.device_lost = result.name;
    return ends_as(Verdict::failed, finding.empty() ? error.what() : finding + ", above");
  }
}

}  // namespace

Launched launch_row(const Row& row, Role role, const Run& run) {
  RunOutcome& outcome = run.outcome;
  Result result = begun(row, role, run);
  Launched launched;
  if (!outcome.device_lost.empty()) {
    result.verdict = Verdict::failed;
    result.message =
        "not run, because the device does nothing more after the failure of " + outcome.device_lost;
  } else if (const std::string reason = why_not_here(row.needs); !reason.empty()) {
    result.verdict = Verdict::skipped;
    result.message = reason;
  } else {
    const auto& shape = row.shape.empty() ? run.problem.output_shape : row.shape;
    std::unique_ptr<Launched::State> state;
    attempt(run, result, [&] {
      state = std::make_unique<Launched::State>(row, result, shape);
      if (!run.options.run.sample_csv_path.empty()) {
        sample(run, *state);
        result = state->result;
        return;
      }
      launch_and_fetch(run, *state);
      result = state->result;
      if (state->got.empty()) {  // nothing to compare
        if (state->progress) state->progress->tell(verdict_text(Verdict::ok));
        measure(run, *state);
        result = state->result;
        return;
      }
      launched.output = state->got;
      launched.layout = layout_of(shape, run.options.usage.output, row.tile);
      launched.state_ = std::move(state);
    });
  }
  if (!launched) outcome.results.push_back(std::move(result));
  return launched;
}

bool add_row(Launched& launched, const Comparison& comparison, const Run& run) {
  if (!launched) return false;
  const std::unique_ptr<Launched::State> row = std::move(launched.state_);
  Result& result = row->result;
  result.max_error = comparison.max_error;
  result.bound = comparison.bound;
  result.verdict = comparison.ok ? Verdict::ok : Verdict::wrong;
  if (!comparison.ok) report_wrong(run, result, comparison);
  if (row->progress) row->progress->tell(verdict_text(result.verdict));
  if (comparison.ok) attempt(run, result, [&] { measure(run, *row); });
  run.outcome.results.push_back(result);
  return result.verdict == Verdict::ok;
}

}  // namespace tutorial
