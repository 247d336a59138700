// A launcher that leaves its stream, or shares memory with its next launch, fails the test that
// every part's launchers pass.
#include "common/testing/two_streams.hpp"

#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

__global__ void fill(float* out, int* ticket) {
  out[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (threadIdx.x == 0) *ticket += 1;
}

void launch(float* out, int* ticket, cudaStream_t of_ticket, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(ticket, 0, sizeof(int), of_ticket));
  fill<<<1, 32, 0, stream>>>(out, ticket);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

TEST_CASE("two launches in two streams: what is in its stream, with its workspace, passes",
          "[streams]") {
  tutorial::check_in_two_streams<float>(
      32, 16, [](float* out, tutorial::Workspace workspace, cudaStream_t stream) {
        launch(out, workspace.take<int>(1), stream, stream);
      });
}

TEST_CASE("two launches in two streams: one counter for both is a race", "[streams]") {
  tutorial::DeviceBuffer<int> ticket(1);
  const auto shares_a_counter = [&](float* out, tutorial::Workspace, cudaStream_t stream) {
    launch(out, ticket.data(), stream, stream);
  };
  CHECK_THROWS_AS(tutorial::check_in_two_streams<float>(32, 16, shares_a_counter),
                  tutorial::CudaError);
  CHECK(simulator::last_report().find("race in ") == 0);
}

TEST_CASE("two launches in two streams: work in the default stream is a race", "[streams]") {
  const auto fills_elsewhere = [](float* out, tutorial::Workspace workspace, cudaStream_t stream) {
    launch(out, workspace.take<int>(1), nullptr, stream);
  };
  CHECK_THROWS_AS(tutorial::check_in_two_streams<float>(32, 16, fills_elsewhere),
                  tutorial::CudaError);
  CHECK(simulator::last_report().find("race in ") == 0);
}
