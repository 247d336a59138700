// The profile puts threads together to warps: kernels whose requests are known by heart.
#include "common/backend/profile.hpp"

#include <cuda_bf16.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"

using namespace tutorial;

namespace {

template <int STRIDE>
__global__ void copies(const float* in, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] = in[i * STRIDE];
}
constexpr int kLineOfCopies = __LINE__ - 2;

__global__ void copies_float4(const float4* in, float4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

/// Lane l makes l + 1 rounds; in each, odd lanes alone make the second load.
__global__ void different_ways(const float* in, float* out) {
  float sum = 0;
  for (unsigned round = 0; round <= threadIdx.x; ++round) {
    sum += in[round];
    if (threadIdx.x % 2 == 1) sum += in[64 + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

/// The inner loop ends at another round for each lane, and all meet again before the next load.
__global__ void meets_again(const float* in, float* out) {
  float sum = 0;
  for (unsigned outer = 0; outer < 4; ++outer) {
    for (unsigned inner = 0; inner < threadIdx.x % 3; ++inner) sum += in[32 + inner];
    sum += in[outer];
  }
  out[threadIdx.x] = sum;
}

__device__ __noinline__ float deep(const float* in) {
  return in[threadIdx.x];
}
__global__ void calls(const float* in, float* out) {
  float sum = 0;
  for (int round = 0; round < 3; ++round) sum += threadIdx.x < 8 ? deep(in) : in[32 + threadIdx.x];
  out[threadIdx.x] = sum;
}

template <int STRIDE>
__global__ void through_shared(float* out) {
  __shared__ float tile[32 * STRIDE];
  tile[threadIdx.x * STRIDE] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x * STRIDE];
}

__global__ void through_arrays_of_bf16(__nv_bfloat16* out) {
  __shared__ __nv_bfloat16 a[32], b[32], c[32];
  a[threadIdx.x] = b[threadIdx.x] = c[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[31 - threadIdx.x];
}

__global__ void works_in_warps(float* out) {
  float value = out[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffff, value, offset);
  out[threadIdx.x] = value;
}

__global__ void adds(int* out) {
  atomicAdd(out + threadIdx.x / 2, 1);
}

template <class Launch>
KernelProfile profile_of(Launch launch, bool with_lines = false) {
  start_profile();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<KernelProfile> profiles = take_profile(with_lines);
  REQUIRE(profiles.size() == 1);
  return profiles[0];
}

const std::vector<float> kNumbers(4096, 0.5f);

}  // namespace

TEST_CASE("a request is an instruction of a warp", "[profile]") {
  DeviceBuffer<float> in(kNumbers), out(256);
  const auto near = profile_of([&] { copies<1><<<2, 128>>>(in.data(), out.data()); });
  CHECK(near.kernel == "copies<1>");
  CHECK(near.launches == 1);
  CHECK(near.total.loads.requests == 8);
  CHECK(near.total.loads.sectors == 8 * 4);
  CHECK(near.total.loads.bytes == 8 * 128);
  CHECK(near.total.loads.lanes == 8 * 32);
  CHECK(near.total.stores.sectors == 8 * 4);

  const auto far = profile_of([&] { copies<8><<<2, 128>>>(in.data(), out.data()); });
  CHECK(far.total.loads.sectors == 8 * 32);
  CHECK(far.total.stores.sectors == 8 * 4);

  const auto part = profile_of([&] { copies<1><<<1, 40>>>(in.data(), out.data()); });
  CHECK(part.total.loads.requests == 2);
  CHECK(part.total.loads.lanes == 40);
  CHECK(part.total.loads.sectors == 5);
}

TEST_CASE("a float4 is one access of 16 bytes", "[profile]") {
  DeviceBuffer<float> in(kNumbers), out(256);
  const auto wide = profile_of([&] {
    copies_float4<<<1, 64>>>(reinterpret_cast<float4*>(in.data()),
                             reinterpret_cast<float4*>(out.data()));
  });
  CHECK(wide.total.loads.requests == 2);
  CHECK(wide.total.loads.sectors == 32);
  CHECK(wide.total.stores.requests == 2);
}

TEST_CASE("lanes that take other ways meet again", "[profile]") {
  DeviceBuffer<float> in(kNumbers), out(32);
  const auto ways = profile_of([&] { different_ways<<<1, 32>>>(in.data(), out.data()); });
  // Round r has the lanes from r on, and of these the odd ones.
  CHECK(ways.total.loads.requests == 32 + 32);
  CHECK(ways.total.loads.lanes == 32 * 33 / 2 + 16 * 17);
  CHECK(ways.total.stores.requests == 1);
  CHECK(ways.total.stores.lanes == 32);

  const auto again = profile_of([&] { meets_again<<<1, 32>>>(in.data(), out.data()); });
  CHECK(again.total.loads.requests == 4 * (2 + 1));
  CHECK(again.total.loads.lanes == 4 * (21 + 10 + 32));

  const auto call = profile_of([&] { calls<<<1, 32>>>(in.data(), out.data()); });
  CHECK(call.total.loads.requests == 3 * 2);
  CHECK(call.total.loads.lanes == 3 * 32);
}

TEST_CASE("bank conflicts", "[profile]") {
  DeviceBuffer<float> out(32);
  const auto none = profile_of([&] { through_shared<33><<<1, 32>>>(out.data()); });
  CHECK(none.total.shared_loads.requests == 1);
  CHECK(none.total.shared_loads.conflicts == 0);
  CHECK(none.total.shared_stores.conflicts == 0);
  CHECK(none.total.barriers == 1);
  const auto all = profile_of([&] { through_shared<32><<<1, 32>>>(out.data()); });
  CHECK(all.total.shared_loads.wavefronts == 32);
  CHECK(all.total.shared_loads.conflicts == 31);
  CHECK(all.total.shared_stores.conflicts == 31);
}

TEST_CASE("arrays of a class in shared memory are not initialized", "[profile]") {
  DeviceBuffer<__nv_bfloat16> out(std::vector<__nv_bfloat16>(32, __float2bfloat16(1)));
  // The first launch is the one in which a thread of the host comes to the arrays for the first
  // time.
  const auto first = profile_of([&] { through_arrays_of_bf16<<<1, 32>>>(out.data()); });
  CHECK(first.total.shared_loads.bytes == 32 * (1 + 2) * 2);  // b = c and a = b read, too
  CHECK(first.total.shared_stores.requests == 3);
}

TEST_CASE("shuffles and atomics are counted by the warp", "[profile]") {
  DeviceBuffer<float> out(std::vector<float>(64, 1.0f));
  const auto shuffles = profile_of([&] { works_in_warps<<<1, 64>>>(out.data()); });
  CHECK(shuffles.total.warp_operations == 2 * 5);
  CHECK(shuffles.total.loads.requests == 2);
  DeviceBuffer<int> sums(std::vector<int>(32, 0));
  const auto atomics = profile_of([&] { adds<<<1, 32>>>(sums.data()); });
  CHECK(atomics.total.atomics.requests == 1);
  CHECK(atomics.total.atomics.sectors == 4);  // 16 words in 2 sectors, in two turns
}

TEST_CASE("a line has its figures", "[profile]") {
  DeviceBuffer<float> in(kNumbers), out(32);
  const auto profile = profile_of([&] { copies<2><<<1, 32>>>(in.data(), out.data()); }, true);
  REQUIRE(profile.lines.size() == 1);
  CHECK(profile.lines[0].path.ends_with("profile_test.cu"));
  CHECK(profile.lines[0].line == kLineOfCopies);
  CHECK(profile.lines[0].counts.loads.sectors == 8);
  CHECK(profile.lines[0].counts.stores.sectors == 4);
}

TEST_CASE("a profile keeps no memory of launches that it has counted", "[profile]") {
  DeviceBuffer<float> in(kNumbers), out(1024);
  const auto count = [&] { profile_of([&] { meets_again<<<1, 1024>>>(in.data(), out.data()); }); };
  const auto pages = [] {  // of 4 KB, in memory
    int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
  };
  for (int launch = 0; launch < 5; ++launch) count();
  const int64_t before = pages();
  for (int launch = 0; launch < 100; ++launch) count();
  CHECK(pages() - before < 1000);
}
