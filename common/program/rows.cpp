// One row: poison the output, launch, check; time or count only what is right.
#include <iostream>
#include <stdexcept>

#include "common/program/state.hpp"

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

}  // namespace

void Chapter::State::launch_and_check(const Row& row, Result& result) {
  const std::vector<int64_t>& shape = row.shape.empty() ? output_shape : row.shape;
  const Check& checker = row.check ? row.check : check;
  if (!checker) throw std::logic_error("the chapter gave no check for " + row.name);

  DeviceBuffer<float> buffer(element_count(shape));  // all NaN
  float* const out = buffer.data();
  if (row.before) row.before(out);
  reset_work();
  start_profile();
  try {
    row.launch(out);
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  CUDA_CHECK_LAUNCH();
  std::vector<float> got = buffer.to_host();  // waits for the kernel
  const Work work = counted_work();
  const bool print = profile && !result.is_vendor;
  const std::vector<KernelProfile> profiles = take_profile(print);

  if (!got.empty()) {
    const Comparison comparison = checker(got, layout_of(shape, output_name, row.tile));
    result.max_error = comparison.max_error;
    result.bound = comparison.bound;
    if (!comparison.ok) {
      result.verdict = Verdict::wrong;
      std::cout << '\n'
                << name << " · " << (result.is_vendor ? "" : "step ") << row.name << " · "
                << sizes_text() << " · WRONG\n"
                << comparison.report;
      if (!comparison.report.ends_with('\n')) std::cout << '\n';
      std::cout << std::flush;
      return;
    }
  }
  if (print) print_profile(row.name, profiles);
  add_to_profile_csv(row.name, profiles);
  for (const KernelProfile& kernel : profiles) result.counts += kernel.total;
  result.kernels = profiles;
  if (!device_has_clock())
    result.work = work;
  else if (times() && !got.empty())
    result.time = time_launch([&] { row.launch(out); }, repeats,
                              [&] {
                                if (row.before) row.before(out);
                              });
  if (!output_path.empty() && !row.is_stage && !result.is_vendor) {
    output = {shape, std::move(got)};
    output_step = row.name;
  }
}

bool Chapter::State::run_row(const Row& row, bool is_vendor) {
  Result result;
  result.name = row.name;
  result.is_stage = row.is_stage;
  result.is_vendor = is_vendor;
  for (size_t i = 0; i < steps.size(); ++i)
    if (!is_vendor && steps[i].name == row.name) result.number = static_cast<int>(i) + 1;
  result.cost = row.cost.flop > 0 || row.cost.bytes > 0 ? row.cost : cost;
  if (times()) {
    result.bound_ms = 1e3 * bound_seconds(result.cost, measured_ceiling());
    result.by_arithmetic = bound_by_arithmetic(result.cost, measured_ceiling());
  }

  const auto ends_as = [&](Verdict verdict, const std::string& why) {
    result.verdict = verdict;
    result.message = why;
  };
  if (!device_lost.empty()) {
    ends_as(Verdict::failed,
            "not run, because the device does nothing more after the failure of " + device_lost);
  } else if (const std::string reason = why_not_here(row.needs); !reason.empty()) {
    ends_as(Verdict::skipped, reason);
  } else {
    try {
      launch_and_check(row, result);
    } catch (const Refused& refused) {
      // Who asked for this kernel by name must know that it did not run; in a run of all it is
      // news.
      if (result.number > 0 && !kernels.empty()) throw Error(refused.what());
      ends_as(Verdict::refused, refused.what());
    } catch (const CudaError& error) {
      ends_as(Verdict::failed, error.what());
      if (!device_goes_on()) device_lost = row.name;
    }
  }
  results.push_back(result);
  return result.verdict == Verdict::ok;
}

}  // namespace tutorial
