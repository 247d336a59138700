// Faults with the words of common/kernel/mma.cuh, planted on purpose: each must be named, with the
// kernel's line.
#include <cuda_pipeline.h>
#include <mma.h>

#include "common/backend/profile.hpp"
#include "common/kernel/mma.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"

using namespace tutorial;

namespace {

using Bits = unsigned short;

std::string line(int number) {
  return "matrix_checks_test.cu:" + std::to_string(number) + "   ";
}

/// Lanes from `count` on leave, or take another way.
constexpr int kProduct = __LINE__ + 6, kElsewhere = __LINE__ + 9;
template <bool LEAVES>
__global__ void product_of_some(unsigned count, float* out) {
  const uint32_t a[4] = {}, b = 0;
  float c[4] = {};
  if (threadIdx.x < count) {
    mma_m16n8k16<__nv_bfloat16>(c, a, b, b);
    out[threadIdx.x] = c[0];
  }
  if (!LEAVES) __syncthreads();
}

/// The two halves of a warp come to two instructions.
constexpr int kFirst = __LINE__ + 5, kSecond = __LINE__ + 7;
__global__ void two_products(float* out) {
  const uint32_t a[4] = {};
  float c[4] = {};
  if (threadIdx.x < 16)
    mma_m16n8k8_tf32(c, a, 0, 0);
  else
    mma_m16n8k8_tf32(c, a, 0, 0);
  out[threadIdx.x] = c[0];
}

enum Fault { kNone, kNoBarrier, kNotFilled, kOneByteOff, kFourRowsOff, kLocal };

/// Two warps fill a tile of 32 rows; each reads the other's half.
constexpr int kFill = __LINE__ + 6, kRead = __LINE__ + 12;
template <Fault FAULT>
__global__ void reads_rows(uint32_t* out) {
  __shared__ __align__(16) Bits tile[32][8];
  for (unsigned column = 0; column < 8; ++column)
    if (threadIdx.x < 32 && (FAULT != kNotFilled || threadIdx.x != 21))
      tile[threadIdx.x][column] = static_cast<Bits>(column);
  if (FAULT != kNoBarrier) __syncthreads();
  uint32_t fragment[4];
  __align__(16) Bits local[8];
  const Bits* row = tile[threadIdx.x % 32] + (FAULT == kOneByteOff && threadIdx.x == 37 ? 2 : 0) +
                    (FAULT == kFourRowsOff && threadIdx.x == 63 ? 32 : 0);
  ldmatrix<4>(fragment, FAULT == kLocal ? local : row);
  out[threadIdx.x] = fragment[0];
}

/// With COUNT < 4 the addresses of other lanes do not count.
template <int COUNT>
__global__ void reads_few_rows(uint32_t* out) {
  __shared__ __align__(16) Bits tile[8 * COUNT][8];
  if (threadIdx.x < 8 * COUNT)
    for (unsigned column = 0; column < 8; ++column) tile[threadIdx.x][column] = 1;
  __syncwarp();
  uint32_t fragment[COUNT];
  ldmatrix_trans<COUNT>(fragment, threadIdx.x < 8 * COUNT ? tile[threadIdx.x] : nullptr);
  out[threadIdx.x] = fragment[0];
}

/// Each lane writes four registers, and reads what others wrote.
constexpr int kStore = __LINE__ + 5, kTakes = __LINE__ + 7;
template <bool SYNC>
__global__ void stores_and_reads(uint32_t* out) {
  __shared__ __align__(16) uint32_t tile[32][4];
  const uint32_t fragment[4] = {threadIdx.x, threadIdx.x, threadIdx.x, threadIdx.x};
  stmatrix<4>(tile[threadIdx.x], fragment);
  if (SYNC) __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x][0];
}

/// All rows of a matrix go to one, with other values or the same.
__global__ void stores_to_one_row(bool same, uint32_t* out) {
  __shared__ __align__(16) uint32_t tile[1][4];
  const uint32_t fragment[1] = {same ? 7 : threadIdx.x};
  stmatrix<1>(tile[0], fragment);
  __syncwarp();
  out[threadIdx.x] = tile[0][threadIdx.x % 4];
}

/// Nothing writes register `left_out` of A, or C's.
constexpr int kUnset = __LINE__ + 9;
__global__ void leaves_out(int left_out, bool sets_c, float* out) {
  uint32_t a[4];
  float c[4];
  for (int r = 0; r < 4; ++r)
    if (r != left_out) a[r] = 0;
  for (int r = 0; r < 4; ++r)
    if (sets_c || r != 3) c[r] = 0;
  const uint32_t b[2] = {0, 0};
  mma_m16n8k16<__half>(c, a, b[0], b[1]);
  out[threadIdx.x] = c[0];
}

__global__ void leaves_out_of_k8(int left_out, float* out) {
  uint32_t ab[3];
  for (int r = 0; r < 3; ++r)
    if (r != left_out) ab[r] = 0;
  float c[4] = {};
  mma_m16n8k8<__half>(c, ab[0], ab[1], ab[2]);
  out[threadIdx.x] = c[0];
}

enum class Wmma { kRight, kShort, kShifted, kOddStride, kOwnAddress, kNotFilled };

constexpr int kLoad = __LINE__ + 11, kMultiply = __LINE__ + 13, kWrite = __LINE__ + 14;
template <Wmma FAULT>
__global__ void wmma_product(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  if (FAULT != Wmma::kNotFilled) fill_fragment(c, 0.0f);
  const __nv_bfloat16* const from = A + (FAULT == Wmma::kShort ? 16 : 0) +
                                    (FAULT == Wmma::kShifted ? 8 : 0) +
                                    (FAULT == Wmma::kOwnAddress ? 16 * (threadIdx.x % 2) : 0);
  load_matrix_sync(a, from, FAULT == Wmma::kOddStride ? 12 : 16);
  load_matrix_sync(b, B, 16);
  mma_sync(c, a, b, c);
  store_matrix_sync(C, c, 16, mem_row_major);
}

}  // namespace

TEST_CASE("lanes that do not come to an mma are told", "[checks][matrix]") {
  DeviceBuffer<float> out(32);
  product_of_some<true><<<1, 32>>>(32, out.data());
  CHECK(Outcome{}.report == "");
  product_of_some<true><<<1, 32>>>(30, out.data());
  const Outcome left;
  CHECK(left.error == cudaErrorLaunchFailure);
  CHECK_THAT(left.report, ContainsSubstring("mma_m16n8k16<__nv_bfloat16>()  " + line(kProduct)));
  CHECK_THAT(left.report, ContainsSubstring("missing of warp 0: lanes 30, 31, which have left"));
  product_of_some<false><<<1, 32>>>(16, out.data());
  const Outcome elsewhere;
  CHECK(elsewhere.error == cudaErrorLaunchFailure);
  CHECK_THAT(
      elsewhere.report,
      ContainsSubstring("16 threads wait at mma_m16n8k16<__nv_bfloat16>()  " + line(kProduct)));
  CHECK_THAT(elsewhere.report,
             ContainsSubstring("31, which wait at __syncthreads()  " + line(kElsewhere)));
  two_products<<<1, 32>>>(out.data());
  const Outcome two;
  CHECK(two.error == cudaErrorLaunchFailure);
  CHECK_THAT(two.report,
             ContainsSubstring("16 threads wait at mma_m16n8k8_tf32()  " + line(kFirst)));
  CHECK_THAT(two.report,
             ContainsSubstring("16 threads wait at mma_m16n8k8_tf32()  " + line(kSecond)));
}

TEST_CASE("what the device has not ends the kernel", "[checks][matrix]") {
  DeviceBuffer<float> out(32);
  REQUIRE(setenv("SIMULATOR_CAPABILITY", "75", 1) == 0);
  product_of_some<true><<<1, 32>>>(32, out.data());
  const Outcome outcome;
  unsetenv("SIMULATOR_CAPABILITY");
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("needs compute capability 8.0") &&
                                 ContainsSubstring("7.5") && ContainsSubstring(line(kProduct)));
}

/// As arrays that asynchronous copies fill are read.
constexpr int kBegins = __LINE__ + 4, kReads = __LINE__ + 9;
template <bool WAITS>
__global__ void reads_copied_rows(const uint4* in, uint32_t* out) {
  __shared__ uint4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(WAITS ? 0 : 1);
  uint32_t fragment[4];
  if (WAITS) __syncwarp();
  ldmatrix<4>(fragment, &tile[threadIdx.x]);
  out[threadIdx.x] = fragment[3];
}

TEST_CASE("ldmatrix of what is still being copied is a race", "[checks][matrix]") {
  const DeviceBuffer<uint4> in(std::vector<uint4>(32));
  DeviceBuffer<uint32_t> out(32);
  reads_copied_rows<true><<<1, 32>>>(in.data(), out.data());
  CHECK(Outcome{}.report == "");
  reads_copied_rows<false><<<1, 32>>>(in.data(), out.data());
  const Outcome race;
  CHECK_THAT(race.report, ContainsSubstring("copied by  ") && ContainsSubstring(line(kBegins)) &&
                              ContainsSubstring(line(kReads)) &&
                              ContainsSubstring("was not waited for"));
}

TEST_CASE("a block that is no multiple of 32 threads lacks lanes", "[checks][matrix]") {
  DeviceBuffer<float> out(64);
  product_of_some<true><<<1, 48>>>(48, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("missing of warp 1: lanes 16, 17, 18"));
}

TEST_CASE("ldmatrix is a read in all checks", "[checks][matrix]") {
  DeviceBuffer<uint32_t> out(64);
  reads_rows<kNone><<<1, 64>>>(out.data());
  CHECK(Outcome{}.report == "");

  reads_rows<kNoBarrier><<<1, 64>>>(out.data());
  const Outcome race;
  CHECK_THAT(race.report,
             ContainsSubstring("race in reads_rows<kNoBarrier>, shared memory tile[0][0]"));
  CHECK_THAT(race.report, ContainsSubstring(line(kFill)));
  CHECK_THAT(race.report,
             ContainsSubstring("read by    block (0,0) thread (32,0)  " + line(kRead)));

  reads_rows<kNotFilled><<<1, 64>>>(out.data());
  const Outcome unwritten;
  CHECK_THAT(unwritten.report,
             ContainsSubstring("init in reads_rows<kNotFilled>, shared memory tile[21][0]"));
  CHECK_THAT(unwritten.report, ContainsSubstring("thread (21,0)  " + line(kRead)));

  reads_rows<kOneByteOff><<<1, 64>>>(out.data());
  const Outcome misaligned;
  CHECK(misaligned.error == cudaErrorMisalignedAddress);
  CHECK_THAT(misaligned.report, ContainsSubstring("thread (37,0)  " + line(kRead)));
  CHECK_THAT(misaligned.report,
             ContainsSubstring("the row of lane 5 begins at shared memory tile[5][2]"));

  reads_rows<kFourRowsOff><<<1, 64>>>(out.data());
  const Outcome outside;
  CHECK(outside.error == cudaErrorIllegalAddress);
  CHECK_THAT(outside.report,
             ContainsSubstring("read by    block (0,0) thread (63,0)  " + line(kRead)));
  CHECK_THAT(outside.report, ContainsSubstring("past the end of tile"));

  reads_rows<kLocal><<<1, 64>>>(out.data());
  const Outcome local;
  CHECK(local.error == cudaErrorIllegalAddress);
  CHECK_THAT(local.report, ContainsSubstring("takes a row of shared memory"));
}

TEST_CASE("addresses of lanes that are not needed are not looked at", "[checks][matrix]") {
  DeviceBuffer<uint32_t> out(32);
  reads_few_rows<1><<<1, 32>>>(out.data());
  CHECK(Outcome{}.report == "");
  reads_few_rows<2><<<1, 32>>>(out.data());
  CHECK(Outcome{}.report == "");
}

TEST_CASE("stmatrix is a write in all checks", "[checks][matrix]") {
  const Restored restored;
  simulator::set_thread_order(0);
  DeviceBuffer<uint32_t> out(32);
  stores_and_reads<true><<<1, 32>>>(out.data());
  CHECK(Outcome{}.report == "");
  stores_and_reads<false><<<1, 32>>>(out.data());  // it orders nothing in memory
  const Outcome race;
  CHECK_THAT(race.report,
             ContainsSubstring("race in stores_and_reads<false>, shared memory tile[0][0]"));
  CHECK_THAT(race.report,
             ContainsSubstring("written by block (0,0) thread (0,0)  " + line(kStore)));
  CHECK_THAT(race.report,
             ContainsSubstring("read by    block (0,0) thread (31,0)  " + line(kTakes)));
  stores_to_one_row<<<1, 32>>>(true, out.data());
  CHECK(Outcome{}.report == "");  // a note
  stores_to_one_row<<<1, 32>>>(false, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in stores_to_one_row"));
}

TEST_CASE("a fragment's register that nothing wrote is told", "[checks][matrix]") {
  DeviceBuffer<float> out(32);
  leaves_out<<<1, 32>>>(-1, true, out.data());
  CHECK(Outcome{}.report == "");
  leaves_out<<<1, 32>>>(2, true, out.data());
  const Outcome of_a;
  CHECK(of_a.error == cudaErrorLaunchFailure);
  CHECK_THAT(of_a.report, ContainsSubstring("init in leaves_out, a register"));
  CHECK_THAT(of_a.report, ContainsSubstring("thread (0,0)  " + line(kUnset)));
  CHECK_THAT(of_a.report, ContainsSubstring("nothing wrote a[2] of mma_m16n8k16<__half>()"));
  leaves_out<<<1, 32>>>(-1, false, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("nothing wrote c[3]"));
  leaves_out_of_k8<<<1, 32>>>(-1, out.data());
  CHECK(Outcome{}.report == "");
  leaves_out_of_k8<<<1, 32>>>(1, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("nothing wrote a1 of mma_m16n8k8<__half>()"));
  leaves_out_of_k8<<<1, 32>>>(2, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("nothing wrote b of mma_m16n8k8<__half>()"));
}

TEST_CASE("the profile has rows of matrices among the accesses of shared memory",
          "[profile][matrix]") {
  DeviceBuffer<uint32_t> out(64);
  start_profile();
  reads_rows<kNone><<<1, 32>>>(out.data());
  reads_few_rows<1><<<1, 32>>>(out.data());
  stores_and_reads<true><<<1, 32>>>(out.data());
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto profiles = take_profile(true);
  REQUIRE(profiles.size() == 3);
  const Traffic four = profiles[0].total.shared_loads;
  CHECK(four.requests == 1);
  CHECK(four.lanes == 32);
  CHECK(four.bytes == 512);
  CHECK(four.wavefronts == 4);
  CHECK(four.conflicts == 0);
  CHECK(profiles[0].total.warp_operations == 1);
  const auto& lines = profiles[0].lines;
  CHECK(std::any_of(lines.begin(), lines.end(), [](const ProfiledLine& at) {
    return at.line == kRead && at.counts.warp_operations == 1 &&
           at.counts.shared_loads.requests == 1;
  }));
  CHECK(profiles[1].total.shared_loads.lanes == 8);
  CHECK(profiles[1].total.shared_loads.wavefronts == 1);
  CHECK(profiles[2].total.shared_stores.requests == 1);
  CHECK(profiles[2].total.shared_stores.wavefronts == 4);
}

TEST_CASE("wmma reads and writes in all checks", "[checks][matrix][wmma]") {
  const DeviceBuffer<__nv_bfloat16> a(std::vector<__nv_bfloat16>(256, 1.0f)), b(a.to_host());
  DeviceBuffer<float> c(256), small(250);
  const auto report_of = [&](auto kernel, float* out) {
    kernel<<<1, 32>>>(a.data(), b.data(), out);
    return Outcome{}.report;
  };
  start_profile();
  CHECK(report_of(wmma_product<Wmma::kRight>, c.data()) == "");
  const auto profiles = take_profile(true);
  REQUIRE(profiles.size() == 1);
  const Counts& total = profiles[0].total;
  CHECK(total.loads.bytes == 2 * 512);
  CHECK(total.loads.requests == 8);  // 4 bytes a lane
  CHECK(total.loads.sectors == 64);  // half a sector in each of 8 rows
  CHECK(total.stores.bytes == 1024);
  CHECK(total.stores.requests == 4);
  CHECK(total.warp_operations == 4);
  CHECK_THAT(report_of(wmma_product<Wmma::kShort>, c.data()),
             ContainsSubstring("read by") && ContainsSubstring(line(kLoad)));
  CHECK_THAT(report_of(wmma_product<Wmma::kRight>, small.data()),
             ContainsSubstring("written by") && ContainsSubstring(line(kWrite)));
  CHECK_THAT(report_of(wmma_product<Wmma::kShifted>, c.data()),
             ContainsSubstring("no multiple of 32 bytes") && ContainsSubstring(line(kLoad)));
  CHECK_THAT(report_of(wmma_product<Wmma::kOddStride>, c.data()),
             ContainsSubstring("12 elements apart"));
  CHECK_THAT(report_of(wmma_product<Wmma::kOwnAddress>, c.data()),
             ContainsSubstring("thread (1,0)") && ContainsSubstring("different addresses"));
  CHECK_THAT(report_of(wmma_product<Wmma::kNotFilled>, c.data()),
             ContainsSubstring("nothing wrote c.x[0] of mma_sync()") &&
                 ContainsSubstring(line(kMultiply)));
}
