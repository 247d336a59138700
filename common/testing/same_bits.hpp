// What launchers that add up in a fixed order promise: the same bits every time.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"

namespace tutorial {

/// On a GPU: copies in a stream of their own, so that blocks of what is tested begin and end at
/// other times. A backend that orders blocks and threads has no need of it.
class OtherWork {
 public:
  OtherWork() {
    if (!device_has_clock()) return;
    buffer_ = std::make_unique<DeviceBuffer<float>>(2 * FLOATS);
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~OtherWork() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  OtherWork(const OtherWork&) = delete;

  /// Another amount each time.
  void begin(int time) {
    for (int copy = 0; stream_ != nullptr && copy < time % 8; ++copy)
      CUDA_CHECK(cudaMemcpyAsync(buffer_->data() + FLOATS, buffer_->data(), FLOATS * sizeof(float),
                                 cudaMemcpyDeviceToDevice, stream_));
  }

 private:
  static constexpr int64_t FLOATS = int64_t{1} << 24;
  std::unique_ptr<DeviceBuffer<float>> buffer_;
  cudaStream_t stream_ = nullptr;
};

/// In a TEST_CASE: `run` launches, and returns what was written, a vector of numbers. It is run
/// with blocks and threads in 20 orders, or as many as it says, or on a GPU 50 times beside other
/// work. Sums of two parts are the same in any order: take inputs with three or more.
template <class Run>
void check_same_bits(const Run& run, int orders = 20) {
  const auto want = run();
  const int times = device_has_clock() ? 50 : orders;
  OtherWork other;
  int others = 0;
  for (int time = 1; time <= times; ++time) {
    set_thread_order(static_cast<uint64_t>(time));
    other.begin(time);
    const auto got = run();
    others += got.size() != want.size() ||
              std::memcmp(got.data(), want.data(), want.size() * sizeof(want[0])) != 0;
  }
  set_thread_order(0);
  INFO(others << " of " << times << " runs gave other bits");
  CHECK(others == 0);
}

}  // namespace tutorial
