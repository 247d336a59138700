// How long a launch takes on the device.
#pragma once

#include <functional>
#include <vector>

namespace tutorial {

struct Timing {
  double median_ms = 0;
  double low_ms = 0, high_ms = 0;  // the quartiles: the spread
  int repeats = 0;
  double clock_mhz = 0;  // of the multiprocessors, on average from the first run to the last
};

/// Times `launch` with CUDA events: warm-up runs, then `repeats` runs, each after `before` (not
/// timed) and with a cold L2: a buffer several times the size of the L2 is read in between, so that
/// the inputs come from global memory. docs/measuring.md says why.
Timing time_launch(const std::function<void()>& launch, int repeats,
                   const std::function<void()>& before = {});

/// `work` in one run, as work in a second.
double per_second(double work, const Timing& timing);
/// A clock's rate, from what it counted in a time.
double megahertz(double cycles, double milliseconds);

/// The value below which `part` (0 to 1) of the values lie, interpolated: 0.5 gives the median.
/// `values` must not be empty.
double quantile(std::vector<double> values, double part);

}  // namespace tutorial
