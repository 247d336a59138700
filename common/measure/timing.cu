#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/measure/timing.hpp"

namespace tutorial {
namespace {

/// Reads `count` elements. The result is of no use; the store, which does not happen, keeps the
/// compiler from leaving out the reads.
__global__ void read_all(const uint4* data, int64_t count, unsigned* sink) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  unsigned seen = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 four = data[i];
    seen |= four.x | four.y | four.z | four.w;
  }
  if (seen == 1) *sink = seen;  // the data are all ones or nothing
}

/// Counts at the rate of the multiprocessors' clock. On a GPU that has nothing else to do a single
/// block always comes to the same multiprocessor, so two readings belong to one counter.
__global__ void read_clock(long long* cycles) {
  *cycles = clock64();
}

/// Empties the L2 of everything that a launch could use, by reading something else. A memset would
/// leave the L2 full of its own changed lines, and writing these back would fall into the time
/// that is measured.
class L2Flush {
 public:
  L2Flush() : data_(size() / int64_t{sizeof(uint4)}), sink_(1) {}
  void operator()() {
    read_all<<<blocks_, 256>>>(data_.data(), data_.size(), sink_.data());
    CUDA_CHECK_LAUNCH();
  }

 private:
  static int64_t size() {
    return std::max(int64_t{4} * device_attribute(cudaDevAttrL2CacheSize), int64_t{256} << 20);
  }

  DeviceBuffer<uint4> data_;
  DeviceBuffer<unsigned> sink_;
  int blocks_ = 8 * device_attribute(cudaDevAttrMultiProcessorCount);
};

/// A point in the device's own time.
class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { CUDA_CHECK(cudaEventRecord(event_)); }
  double milliseconds_since(const Event& start) {
    CUDA_CHECK(cudaEventSynchronize(event_));
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

constexpr int kWarmUps = 3;

}  // namespace

double per_second(double work, const Timing& timing) {
  return work / (timing.median_ms * 1e-3);
}

double megahertz(double cycles, double milliseconds) {
  return cycles / milliseconds / 1e3;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double position = part * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double weight = position - static_cast<double>(below);
  return (1 - weight) * values[below] + weight * values[above];
}

Timing time_launch(const std::function<void()>& launch, int repeats,
                   const std::function<void()>& before) {
  if (repeats < 1) throw Error("--repeats must be at least 1");
  L2Flush flush;
  Event start, stop, first, last;
  DeviceBuffer<long long> cycles(2);
  std::vector<double> times;
  for (int run = 0; run < kWarmUps + repeats; ++run) {
    if (run == kWarmUps) {
      read_clock<<<1, 1>>>(cycles.data());
      first.record();
    }
    if (before) before();
    // The flush takes longer than the host needs to queue what follows, so the launch's own delay
    // is hidden and the device goes from `start` to the kernel without a gap.
    flush();
    start.record();
    launch();
    stop.record();
    CUDA_CHECK_LAUNCH();
    const double milliseconds = stop.milliseconds_since(start);
    if (run >= kWarmUps) times.push_back(milliseconds);
  }
  last.record();
  read_clock<<<1, 1>>>(cycles.data() + 1);
  CUDA_CHECK_LAUNCH();
  const std::vector<long long> read = cycles.to_host();
  return {.median_ms = quantile(times, 0.5),
          .low_ms = quantile(times, 0.25),
          .high_ms = quantile(times, 0.75),
          .repeats = repeats,
          .clock_mhz =
              megahertz(static_cast<double>(read[1] - read[0]), last.milliseconds_since(first))};
}

}  // namespace tutorial
