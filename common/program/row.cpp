// One row: poison the output, launch, check; time or count only what is right.
#include "common/program/row.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/program/options.hpp"
#include "common/program/progress.hpp"
#include "common/program/source_profile.hpp"
#include "common/program/table.hpp"
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
            << run.program << " · " << (result.is_vendor ? "" : "step ") << result.name << " · "
            << sizes_text(run.declared) << " · WRONG\n"
            << comparison.report;
  if (!comparison.report.ends_with('\n')) std::cout << '\n';
  std::cout << std::flush;
}

void keep_profiles(const Run& run, std::vector<KernelProfile> profiles, Result& result) {
  const std::string sizes = sizes_text(run.declared);
  if (run.options.profile && !result.is_vendor)
    print_profile("profile of " + result.name + " · " + sizes, profiles, run.problem.symbols);
  std::string& csv = run.outcome.profile_csv;
  if (csv.empty()) csv = profile_csv_heads();
  csv += profile_csv_lines(run.program, sizes, result.name, profiles);
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
  for (const ListedStep& step : run.declared.steps)
    row.steps_after += is_selected(run.options, step.name) && !refuses(step.name);
  for (const Result& done : run.outcome.results) {
    if (!is_step(done) || refuses(done.name)) continue;
    --row.steps_after;
    row.steps_done += was_checked(done);
    row.seconds_of_done += done.simulated_seconds;
  }
  row.steps_after -= is_step(result);
  return row;
}

/// The output, in the type that the row writes.
class Output {
 public:
  Output(const Row& row, int64_t count)
      : row_(row), floats_(row.launch_bf16 ? 0 : count), narrow_(row.launch_bf16 ? count : 0) {}
  void prepare() {
    if (row_.before) row_.before(floats_.data());
  }
  void launch() {
    row_.launch_bf16 ? row_.launch_bf16(narrow_.data()) : row_.launch(floats_.data());
  }
  /// Waits for the kernel.
  std::vector<float> to_host() const {
    return row_.launch_bf16 ? widened<__nv_bfloat16>(narrow_.to_host()) : floats_.to_host();
  }
  const void* data() const {
    return row_.launch_bf16 ? static_cast<const void*>(narrow_.data()) : floats_.data();
  }

 private:
  const Row& row_;
  DeviceBuffer<float> floats_;  // all NaN
  DeviceBuffer<__nv_bfloat16> narrow_;
};

/// Launches the row; of a step that is to be traced keeps the trace, of a right result or a wrong
/// one, but not of a launch that failed.
void launch_once(const Run& run, const Result& result, Output& out,
                 const std::vector<int64_t>& shape) {
  const bool traces = !run.options.trace_path.empty() && is_step(result);
  if (traces) start_trace(run.options.trace_kernel, kMostTraceEvents);
  try {
    out.launch();
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  CUDA_CHECK_LAUNCH();
  if (!traces) return;
  CUDA_CHECK(cudaDeviceSynchronize());
  run.outcome.trace = take_trace();
  if (run.outcome.trace.launch)
    give_shapes(*run.outcome.trace.launch, run.declared, out.data(), shape);
}

/// Launches once on a poisoned output, checks, then times or counts. Fills in `result`.
void launch_and_check(const Run& run, const Row& row, Result& result) {
  const std::vector<int64_t>& shape = row.shape.empty() ? run.problem.output_shape : row.shape;
  const Check& check = row.check ? row.check : run.problem.check;
  if (!check) throw std::logic_error("the chapter gave no check for " + row.name);

  Output out(row, element_count(shape));
  out.prepare();
  start_profile();
  std::optional<Progress> progress;
  if (!device_has_clock()) progress.emplace(underway(run, result), run.outcome.is_long);
  launch_once(run, result, out, shape);
  std::vector<float> got = out.to_host();
  if (progress) result.simulated_seconds = progress->stop();
  std::vector<KernelProfile> profiles = take_profile(run.options.profile && !result.is_vendor);

  if (!got.empty()) {
    const Comparison comparison = check(got, layout_of(shape, run.problem.output_name, row.tile));
    result.max_error = comparison.max_error;
    result.bound = comparison.bound;
    if (!comparison.ok) {
      result.verdict = Verdict::wrong;
      report_wrong(run, result, comparison);
    }
  }
  if (progress) progress->tell(verdict_text(result.verdict));
  if (result.verdict == Verdict::wrong) return;
  keep_profiles(run, std::move(profiles), result);
  result.is_counted = !device_has_clock();
  if (device_has_clock() && run.options.repeats > 0 && !got.empty())
    result.time = time_launch([&] { out.launch(); }, run.options.repeats, [&] { out.prepare(); });
  if (!run.options.output_path.empty() && !row.is_stage && !result.is_vendor) {
    run.outcome.output = {shape, std::move(got)};
    run.outcome.output_step = row.name;
  }
}

}  // namespace

bool run_row(const Row& row, Role role, const Run& run) {
  Outcome& outcome = run.outcome;
  Result result;
  result.name = row.name;
  result.is_stage = row.is_stage;
  result.is_vendor = role == Role::vendor;
  for (size_t i = 0; i < run.declared.steps.size(); ++i)
    if (role == Role::step && run.declared.steps[i].name == row.name)
      result.number = static_cast<int>(i) + 1;
  result.cost = row.cost.flop > 0 || row.cost.bytes > 0 ? row.cost : run.problem.cost;
  if (device_has_clock() && run.options.repeats > 0) {
    const Ceiling& ceiling = measured_ceiling(result.cost.arithmetic);
    result.bound_ms = 1e3 * bound_seconds(result.cost, ceiling);
    result.by_arithmetic = bound_by_arithmetic(result.cost, ceiling);
  }

  const auto ends_as = [&](Verdict verdict, const std::string& why) {
    result.verdict = verdict;
    result.message = why;
  };
  if (!outcome.device_lost.empty()) {
    ends_as(Verdict::failed, "not run, because the device does nothing more after the failure of " +
                                 outcome.device_lost);
  } else if (const std::string reason = why_not_here(row.needs); !reason.empty()) {
    ends_as(Verdict::skipped, reason);
  } else {
    try {
      launch_and_check(run, row, result);
    } catch (const Refused& refused) {
      ends_as(Verdict::refused, refused.what());
    } catch (const CudaError& error) {
      const std::string finding = last_finding();
      ends_as(Verdict::failed, finding.empty() ? error.what() : finding + ", above");
      if (!device_goes_on()) outcome.device_lost = row.name;
    }
  }
  outcome.results.push_back(result);
  return result.verdict == Verdict::ok;
}

}  // namespace tutorial
