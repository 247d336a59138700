// What launchers that take a stream promise: all that they do is in that stream, and two launches
// share nothing.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial {

/// A stream that neither waits for the default one nor keeps it waiting, with an output and a
/// workspace.
template <class T>
class OwnStream {
 public:
  OwnStream(int64_t outputs, int64_t workspace_bytes) : out(outputs), memory(workspace_bytes) {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~OwnStream() { cudaStreamDestroy(stream); }
  OwnStream(const OwnStream&) = delete;

  /// What stood in `out` when the stream's work was done.
  std::vector<T> wait() {
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return out.to_host();
  }

  DeviceBuffer<T> out;
  DeviceBuffer<std::byte> memory;
  cudaStream_t stream = nullptr;
};

/// In a TEST_CASE: launches twice, in two streams, without waiting in between, and in the default
/// stream; all three outputs must have the same bits, none of them poison. In the simulator a
/// kernel that goes to another stream than its own, and memory that both launches use, are races
/// between streams.
template <class T>
void check_in_two_streams(
    int64_t outputs, int64_t workspace_bytes,
    const std::function<void(T* out, Workspace workspace, cudaStream_t stream)>& launch) {
  DeviceBuffer<T> out(outputs);
  DeviceBuffer<std::byte> memory(workspace_bytes);
  launch(out.data(), workspace_in(memory), nullptr);
  const std::vector<T> want = out.to_host();

  OwnStream<T> first(outputs, workspace_bytes), second(outputs, workspace_bytes);
  CUDA_CHECK(cudaDeviceSynchronize());  // what filled the inputs and these is done
  for (OwnStream<T>* own : {&first, &second}) {
    // In the stream: what another stream writes there is then not ordered with it.
    CUDA_CHECK(cudaMemsetAsync(own->out.data(), 0xff, outputs * sizeof(T), own->stream));
    launch(own->out.data(), workspace_in(own->memory), own->stream);
  }
  for (OwnStream<T>* own : {&first, &second}) {
    const std::vector<T> got = own->wait();
    CHECK(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) == 0);
    CHECK(own->out.guards_intact());
    CHECK(own->memory.guards_intact());
  }
}

}  // namespace tutorial
