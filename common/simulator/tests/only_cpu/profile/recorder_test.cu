// The record of a launch: kernels whose events are known by heart.
#include <cuda_pipeline.h>

#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"
#include "common/backend/profile.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/mma.cuh"
#include "common/simulator/translate/kernel_parameters.hpp"

using namespace tutorial;
using What = TraceEvent::What;
using Numbers = std::vector<int64_t>;

namespace {

__global__ void reverse_tile(const float* in, float* out) {
  __shared__ float tile[2][20];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t / 20][t % 20] = 2 * in[i];
  __syncthreads();
  out[i] = tile[1 - t / 20][19 - t % 20];
}

__global__ void scale_fours(float4* fours) {
  float4 four = fours[threadIdx.x];
  four.x += 1;
  fours[threadIdx.x] = four;
}

__global__ void two_ways(float* low, float* high) {
  const unsigned t = threadIdx.x;
  if (t < 8)
    low[t] = 1;
  else if (t % 2 == 0)
    high[t] = 2;
  low[32 + t] = 3;
}

__global__ void half_a_warp(float* out) {
  __shared__ float slots[16];
  const unsigned t = threadIdx.x;
  if (t < 16) {
    slots[t] = static_cast<float>(t);
    __syncwarp(0xffff);
    out[t] = slots[15 - t];
  }
}

__global__ void exchange(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
}

/// Lane l's register of matrix i is a float: l + 100·i.
__global__ void through_matrices(uint32_t* out) {
  __shared__ __align__(16) float tile[32][4];
  uint32_t fragment[4];
  for (unsigned i = 0; i < 4; ++i)
    fragment[i] = __float_as_uint(static_cast<float>(threadIdx.x + 100 * i));
  stmatrix<4>(tile[threadIdx.x], fragment);
  __syncwarp();
  ldmatrix<2>(*reinterpret_cast<uint32_t(*)[2]>(fragment), tile[threadIdx.x % 16 + 8]);
  out[threadIdx.x] = fragment[0];
}

__global__ void overwrite(float* cell) {
  for (int round = 0; round < 3; ++round) cell[threadIdx.x] = static_cast<float>(round);
}

__global__ void copy_ahead(const float* in, float* out, int bytes) {
  extern __shared__ float ahead[];
  const unsigned t = threadIdx.x, floats = static_cast<unsigned>(bytes) / 4;
  if (bytes == 16)
    __pipeline_memcpy_async(ahead + t * 4, in + t * 4, 16);
  else
    __pipeline_memcpy_async(ahead + t, in + t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = ahead[t * floats];
}

struct Pointers {
  int64_t count;
  const float* first;
};
__global__ void reads_all(Pointers p, float* const* table, float* sums, float* rest) {
  sums[threadIdx.x] = p.first[threadIdx.x] + table[0][threadIdx.x];
  rest[threadIdx.x] = 0;
}

__global__ void counts(int* bins) {
  atomicAdd(bins + threadIdx.x / 16, 1);
}

template <class Launch>
TakenTrace taken(Launch launch, const std::string& kernel = "", int64_t most = 1000) {
  start_trace(kernel, most);
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  return take_trace();
}
template <class Launch>
LaunchTrace trace_of(Launch launch) {
  TakenTrace trace = taken(launch);
  REQUIRE(trace.launch.has_value());
  CHECK(trace.launch->is_complete);
  return *trace.launch;
}

Numbers from(int64_t first, int64_t count, int64_t step = 1) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(first + i * step);
  return numbers;
}
std::vector<float> floats(int count, float first = 0) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// "1.0 load in": block, warp, what, array.
std::string summary(const LaunchTrace& trace, const TraceEvent& event) {
  constexpr const char* names[] = {"load", "store", "atomic", "copy", "barrier", "warp"};
  std::string text = std::to_string(event.block) + '.';
  text += (event.warp < 0 ? "-" : std::to_string(event.warp)) + ' ' +
          names[static_cast<size_t>(event.what)];
  if (event.array >= 0) text += ' ' + trace.arrays[static_cast<size_t>(event.array)].name;
  return text;
}
std::vector<std::string> summaries(const LaunchTrace& trace) {
  std::vector<std::string> texts;
  for (const TraceEvent& event : trace.events) texts.push_back(summary(trace, event));
  return texts;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a trace has the requests of each warp in their order, and the barriers", "[recorder]") {
  DeviceBuffer<float> in(floats(80)), out(80);
  const auto trace = trace_of([&] { reverse_tile<<<2, 40>>>(in.data(), out.data()); });
  CHECK(trace.kernel == "reverse_tile");
  CHECK(trace.path.ends_with("recorder_test.cu"));
  CHECK(trace.grid[0] == 2);
  CHECK(trace.block[0] == 40);
  CHECK(summaries(trace) ==
        Texts{"0.0 load in", "0.0 store tile", "0.1 load in", "0.1 store tile", "0.- barrier",
              "0.0 load tile", "0.0 store out", "0.1 load tile", "0.1 store out",  //
              "1.0 load in", "1.0 store tile", "1.1 load in", "1.1 store tile", "1.- barrier",
              "1.0 load tile", "1.0 store out", "1.1 load tile", "1.1 store out"});

  const TraceEvent& load = trace.events[2];  // the 8 threads of the second warp
  CHECK(load.lanes == from(0, 8));
  CHECK(load.elements == from(32, 8));
  CHECK(load.values.empty());
  const TraceEvent& store = trace.events[3];
  CHECK(store.elements == from(32, 8));  // tile[1][12] …
  CHECK(store.values == std::vector<float>{64, 66, 68, 70, 72, 74, 76, 78});
  CHECK(store.width == 1);
  CHECK(trace.events[7].elements == Numbers{7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(trace.events[8].values == std::vector<float>{14, 12, 10, 8, 6, 4, 2, 0});
  CHECK(trace.events[9].elements == from(40, 32));

  const int first = trace.places[static_cast<size_t>(store.place)].line;  // tile[…] = 2 * in[i];
  CHECK(trace.places[static_cast<size_t>(load.place)].line == first);
  CHECK(trace.places[static_cast<size_t>(trace.events[4].place)].line == first + 1);
  CHECK(trace.places[static_cast<size_t>(trace.events[8].place)].line == first + 2);
}

TEST_CASE("a trace has the names, shapes and types of arrays", "[recorder]") {
  DeviceBuffer<float> in(floats(80)), out(80);
  const auto trace = trace_of([&] { reverse_tile<<<1, 40>>>(in.data(), out.data()); });
  REQUIRE(trace.arrays.size() == 3);
  CHECK(trace.arrays[0].name == "in");
  CHECK_FALSE(trace.arrays[0].is_shared);
  CHECK(trace.arrays[0].shape == Numbers{80});
  CHECK(trace.arrays[0].type == "float");
  CHECK(trace.arrays[0].begin == reinterpret_cast<uintptr_t>(in.data()));
  CHECK(trace.arrays[2].name == "tile");
  CHECK(trace.arrays[2].is_shared);
  CHECK(trace.arrays[2].shape == Numbers{2, 20});
  CHECK(trace.arrays[2].element_bytes == 4);
  CHECK(trace.arrays[2].offset_bytes == 0);
}

TEST_CASE("a float4 is an access four elements wide", "[recorder]") {
  DeviceBuffer<float> fours(floats(8));
  const auto trace =
      trace_of([&] { scale_fours<<<1, 2>>>(reinterpret_cast<float4*>(fours.data())); });
  CHECK(summaries(trace) == Texts{"0.0 load fours", "0.0 store fours"});
  CHECK(trace.arrays[0].type == "float");
  CHECK(trace.arrays[0].shape == Numbers{8});
  CHECK(trace.events[0].width == 4);
  CHECK(trace.events[0].elements == Numbers{0, 4});
  CHECK(trace.events[1].values == std::vector<float>{1, 1, 2, 3, 5, 5, 6, 7});
}

TEST_CASE("lanes that take different ways have events of their own", "[recorder]") {
  DeviceBuffer<float> low(64), high(32);
  const auto trace = trace_of([&] { two_ways<<<1, 32>>>(low.data(), high.data()); });
  REQUIRE(trace.events.size() == 3);
  for (const TraceEvent& event : trace.events) {
    if (event.lanes.size() == 32) continue;
    const bool is_low = event.array == 0;
    CHECK(event.lanes == (is_low ? from(0, 8) : from(8, 12, 2)));
    CHECK(event.values == std::vector<float>(is_low ? 8 : 12, is_low ? 1.f : 2.f));
  }
  CHECK(trace.events[0].array != trace.events[1].array);
  CHECK(trace.events[2].lanes == from(0, 32));  // they meet again
  CHECK(trace.events[2].elements == from(32, 32));
}

TEST_CASE("an operation of a warp stands between what its lanes did", "[recorder]") {
  DeviceBuffer<float> out(32);
  const auto half = trace_of([&] { half_a_warp<<<1, 32>>>(out.data()); });
  CHECK(summaries(half) == Texts{"0.0 store slots", "0.0 warp", "0.0 load slots", "0.0 store out"});
  CHECK(half.events[1].lanes == from(0, 16));
  CHECK(half.events[1].operation == std::string("sync"));

  DeviceBuffer<int> numbers(32);
  const auto shuffle = trace_of([&] { exchange<<<1, 32>>>(numbers.data()); });
  CHECK(summaries(shuffle) == Texts{"0.0 warp", "0.0 store out"});
  CHECK(shuffle.events[0].operation == std::string("shuffle"));
  Numbers partners;
  for (int64_t lane = 0; lane < 32; ++lane) partners.push_back(lane ^ 1);
  CHECK(shuffle.events[0].from == partners);
  CHECK(shuffle.arrays[0].type == "int32");
  CHECK(shuffle.events[1].values.empty());  // only floats have some
}

TEST_CASE("rows of matrices are loads and stores, beside their operation", "[recorder][matrix]") {
  DeviceBuffer<uint32_t> out(32);
  const auto trace = trace_of([&] { through_matrices<<<1, 32>>>(out.data()); });
  CHECK(summaries(trace) == Texts{"0.0 store tile", "0.0 warp", "0.0 warp", "0.0 load tile",
                                  "0.0 warp", "0.0 store out"});
  const TraceEvent &store = trace.events[0], &load = trace.events[3];
  CHECK(trace.events[1].operation == std::string("matrix"));
  CHECK(trace.events[1].place == store.place);
  CHECK(store.lanes == from(0, 32));
  CHECK(store.elements == from(0, 32, 4));
  CHECK(store.width == 4);
  REQUIRE(store.values.size() == 128);
  for (size_t i = 0; i < 128; ++i)
    CHECK(store.values[i] == static_cast<float>(i % 32 + 100 * (i / 32)));
  CHECK(load.lanes == from(0, 16));
  CHECK(load.elements == from(32, 16, 4));
}

TEST_CASE("a store has the value of its time", "[recorder]") {
  DeviceBuffer<float> cell(40);
  const auto trace = trace_of([&] { overwrite<<<1, 40>>>(cell.data()); });
  REQUIRE(trace.events.size() == 6);
  for (int round = 0; round < 3; ++round) {
    CHECK(trace.events[static_cast<size_t>(round)].values ==
          std::vector<float>(32, static_cast<float>(round)));
    CHECK(trace.events[static_cast<size_t>(3 + round)].values ==
          std::vector<float>(8, static_cast<float>(round)));
  }
}

TEST_CASE("an asynchronous copy has two events", "[recorder]") {
  DeviceBuffer<float> in(floats(128)), out(32);
  for (const int bytes : {16, 4}) {
    const int width = bytes / 4;
    const size_t shared = 32 * static_cast<size_t>(bytes);
    const auto trace =
        trace_of([&] { copy_ahead<<<1, 32, shared>>>(in.data(), out.data(), bytes); });
    CHECK(summaries(trace) ==
          Texts{"0.0 copy in", "0.0 copy ahead", "0.0 load ahead", "0.0 store out"});
    CHECK(trace.events[0].width == width);
    CHECK(trace.events[1].width == width);
    CHECK(trace.events[1].elements == from(0, 32, width));
    CHECK(trace.arrays[2].shape == Numbers{32 * width});
  }
}

TEST_CASE("the profile does not change when a launch is recorded", "[recorder]") {
  DeviceBuffer<float> in(floats(128)), out(32);
  const auto counted = [&](bool records) {
    start_profile();
    if (records) start_trace("", 1000);
    copy_ahead<<<1, 32, 128>>>(in.data(), out.data(), 4);
    half_a_warp<<<1, 32>>>(out.data());
    CUDA_CHECK_LAUNCH();
    take_trace();
    Counts sum;
    for (const KernelProfile& kernel : take_profile(false)) sum += kernel.total;
    return sum;
  };
  const Counts plain = counted(false), recorded = counted(true);
  CHECK(plain.loads.requests == 1);
  CHECK(recorded.loads.requests == plain.loads.requests);
  CHECK(recorded.loads.sectors == plain.loads.sectors);
  CHECK(recorded.shared_stores.requests == plain.shared_stores.requests);
  CHECK(recorded.async_copies == plain.async_copies);
  CHECK(recorded.warp_operations == plain.warp_operations);

  start_trace("", 1000);
  half_a_warp<<<1, 32>>>(out.data());
  take_trace();
  start_profile();  // what only the recorder wanted is in no profile
  CHECK(take_profile(false).empty());
}

TEST_CASE("arrays that no parameter names", "[recorder]") {
  DeviceBuffer<float> first(floats(32)), hidden(floats(32)), both(64);
  DeviceBuffer<float*> table(std::vector<float*>{hidden.data()});
  const auto trace = trace_of([&] {
    reads_all<<<1, 32>>>({32, first.data()}, table.data(), both.data(), both.data() + 32);
  });
  Texts names;
  for (const TracedArray& array : trace.arrays) names.push_back(array.name);
  CHECK(names == Texts{"p.1", "table", "sums", "rest", "global 1"});
  CHECK(trace.arrays[0].element_bytes == 4);
  CHECK(trace.arrays[2].shape == Numbers{32});  // one allocation, and two pointers into it
  CHECK(trace.arrays[3].shape == Numbers{32});
  CHECK(trace.arrays[4].shape == Numbers{32});
}

TEST_CASE("an atomic function is one request", "[recorder]") {
  DeviceBuffer<int> bins(std::vector<int>(2, 0));
  const auto trace = trace_of([&] { counts<<<1, 32>>>(bins.data()); });
  CHECK(summaries(trace) == Texts{"0.0 atomic bins"});
  CHECK(trace.events[0].elements.front() == 0);
  CHECK(trace.events[0].elements.back() == 1);
}

TEST_CASE("which launch is recorded, and how much of it", "[recorder]") {
  DeviceBuffer<float> out(64);
  const auto both = [&] {
    half_a_warp<<<1, 32>>>(out.data());
    overwrite<<<1, 32>>>(out.data());
    overwrite<<<1, 64>>>(out.data());
  };
  const TakenTrace first = taken(both);
  REQUIRE(first.launch.has_value());
  CHECK(first.launch->kernel == "half_a_warp");
  CHECK(first.others == Texts{"overwrite"});
  const TakenTrace named = taken(both, "overwrite");
  REQUIRE(named.launch.has_value());
  CHECK(named.launch->events.size() == 3);  // the first of its launches
  CHECK(named.others == Texts{"half_a_warp"});
  CHECK_FALSE(taken(both, "absent").launch.has_value());
  both();
  CHECK_FALSE(take_trace().launch.has_value());  // nobody asked

  const TakenTrace cut = taken(both, "overwrite", 2);
  REQUIRE(cut.launch.has_value());
  CHECK_FALSE(cut.launch->is_complete);
  CHECK(cut.launch->events.size() == 2);
}

TEST_CASE("the names of a kernel's parameters are read from its source", "[recorder]") {
  using simulator::kernel_parameters;
  const std::string source = R"(
    void tile(int not_this);
    template <int N> __global__ void __launch_bounds__(256, 2)
        tile(const float* __restrict__ a /* left */, std::array<int, 2> pair, // , comma
             float b[4], int count = 3, unsigned char last = f(1, 2)) { other(a); }
    __global__ void none() { tile(1); })";
  CHECK(kernel_parameters(source, "tile") == Texts{"a", "pair", "b", "count", "last"});
  CHECK(kernel_parameters(source, "none").empty());
  CHECK(kernel_parameters(source, "absent").empty());
}
