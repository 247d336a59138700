// Streams, events, and how the host waits. All work is done when the call that asked for it
// returns; what a GPU would promise of its order is in stream_order.hpp.
#include <chrono>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/device/stream_order.hpp"

struct CUevent_st {
  bool recorded = false;
  bool timed = true;
  std::chrono::steady_clock::time_point when;
  simulator::Clock clock;
};

using namespace simulator;

namespace {

cudaError_t refused(cudaError_t error) {
  set_last_error(error);
  return error;
}

}  // namespace

cudaError_t cudaDeviceSynchronize() {
  host_waits_for_all();
  return take_kernel_fault();
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (current_block() != nullptr)
    throw Fault(
        cudaErrorNotSupported,
        "cudaStreamCreateWithFlags in a kernel\n  the CPU backend has no dynamic parallelism: "
        "launch from the host\n");
  if (stream == nullptr) return refused(cudaErrorInvalidValue);
  *stream = new_stream(flags != cudaStreamNonBlocking);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return refused(cudaErrorInvalidResourceHandle);
  delete_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  host_waits(stream);
  return take_kernel_fault();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return cudaStreamSynchronize(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  if (event == nullptr) return refused(cudaErrorInvalidResourceHandle);
  wait_for_event(stream, event->clock);  // of an event that was not recorded: nothing
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr) return refused(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->timed = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return refused(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event == nullptr) return refused(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->when = std::chrono::steady_clock::now();
  event->clock = record_event(stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event == nullptr) return refused(cudaErrorInvalidResourceHandle);
  host_waits(event->clock);
  return take_kernel_fault();
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return cudaEventSynchronize(event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (milliseconds == nullptr) return refused(cudaErrorInvalidValue);
  if (start == nullptr || stop == nullptr || !start->recorded || !stop->recorded || !start->timed ||
      !stop->timed)
    return refused(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(stop->when - start->when).count();
  return cudaSuccess;
}
