// What launchers that take a stream promise: all that they do is in that stream, and two launches
// share nothing.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "common/backend/backend.hpp"
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
    CUDA_CHECK(cudaDeviceSynchronize());  // the default stream has poisoned both, too
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

/// Launches that often in a stream of the calling thread's own. How often were the bits others?
template <class T, class Launch>
int64_t count_others(int64_t times, const std::vector<T>& want, int64_t workspace_bytes,
                     const Launch& launch) {
  const size_t bytes = want.size() * sizeof(T);
  OwnStream<T> own(static_cast<int64_t>(want.size()), workspace_bytes);
  int64_t others = 0;
  for (int64_t i = 0; i < times; ++i) {
    CUDA_CHECK(cudaMemsetAsync(own.out.data(), 0xff, bytes, own.stream));
    launch(own.out.data(), workspace_in(own.memory), own.stream);
    others += std::memcmp(own.wait().data(), want.data(), bytes) != 0;
  }
  return others;
}

/// In a TEST_CASE: two host threads launch at once. The simulator has one host thread.
template <class T, class Launch>
void check_in_two_threads(const std::vector<T>& want, int64_t workspace_bytes,
                          const Launch& launch) {
  constexpr int64_t TIMES = 200;
  int64_t others[2] = {};
  std::exception_ptr problems[2];
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      try {
        others[t] = count_others(TIMES, want, workspace_bytes, launch);
      } catch (...) {
        problems[t] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
  CHECK(others[0] + others[1] == 0);
}

/// In a TEST_CASE: launches twice, in two streams, without waiting in between, and in the default
/// stream; all three outputs must have the same bits, none of them poison. In the simulator a
/// kernel that goes to another stream than its own, and memory that both launches use, are races
/// between streams. On a GPU then from two host threads, many times.
template <class T>
void check_in_two_streams(
    int64_t outputs, int64_t workspace_bytes,
    const std::function<void(T* out, Workspace workspace, cudaStream_t stream)>& launch) {
  DeviceBuffer<T> out(outputs);
  DeviceBuffer<std::byte> memory(workspace_bytes);
  launch(out.data(), workspace_in(memory), nullptr);
  const std::vector<T> want = out.to_host();

  OwnStream<T> first(outputs, workspace_bytes), second(outputs, workspace_bytes);
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
  if (device_has_clock()) check_in_two_threads(want, workspace_bytes, launch);
}

}  // namespace tutorial
