// The words of common/kernel/mma.cuh against plain loops.
#include <algorithm>
#include <bit>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "common/kernel/exp2.cuh"
#include "common/kernel/mma.cuh"
#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

using Bits = unsigned short;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void need(const std::string& architecture) {
  if (!device_has_clock()) return;  // the simulator has all of it
  const std::string reason = why_not_here(architecture);
  if (!reason.empty()) SKIP(reason);
}

// ---- mma

/// A (16, K), B (K, 8), C (16, 8), row after row.
template <class T>
__global__ void multiplies(const T* A, const T* B, const float* C, float* out) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  const auto pair = [](const T* low, const T* high) {
    return uint32_t{*reinterpret_cast<const Bits*>(high)} << 16 |
           *reinterpret_cast<const Bits*>(low);
  };
  uint32_t a[4], b[2];
  for (int r = 0; r < 4; ++r) {
    const T* first = &A[(g + 8 * (r % 2)) * 16 + 2 * t + 8 * (r / 2)];
    a[r] = pair(first, first + 1);
  }
  for (int r = 0; r < 2; ++r) {
    const T* first = &B[(2 * t + 8 * r) * 8 + g];
    b[r] = pair(first, first + 8);
  }
  float c[4];
  for (int r = 0; r < 4; ++r) c[r] = C[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2];
  mma_m16n8k16<T>(c, a, b[0], b[1]);
  for (int r = 0; r < 4; ++r) out[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2] = c[r];
}

struct Tf32 {
  uint32_t bits;
};
template <>
__global__ void multiplies(const Tf32* A, const Tf32* B, const float* C, float* out) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  const uint32_t a[4] = {A[g * 8 + t].bits, A[(g + 8) * 8 + t].bits, A[g * 8 + t + 4].bits,
                         A[(g + 8) * 8 + t + 4].bits};
  float c[4];
  for (int r = 0; r < 4; ++r) c[r] = C[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2];
  mma_m16n8k8_tf32(c, a, B[t * 8 + g].bits, B[(t + 4) * 8 + g].bits);
  for (int r = 0; r < 4; ++r) out[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2] = c[r];
}

/// __half in the instruction of half the depth.
struct HalfK8 {
  __half value;
};
template <>
__global__ void multiplies(const HalfK8* A, const HalfK8* B, const float* C, float* out) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  const auto pair = [](const HalfK8& low, const HalfK8& high) {
    return uint32_t{__half_as_ushort(high.value)} << 16 | __half_as_ushort(low.value);
  };
  const HalfK8 *a = &A[g * 8 + 2 * t], *b = &B[2 * t * 8 + g];
  float c[4];
  for (int r = 0; r < 4; ++r) c[r] = C[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2];
  mma_m16n8k8<__half>(c, pair(a[0], a[1]), pair(a[64], a[65]), pair(b[0], b[8]));
  for (int r = 0; r < 4; ++r) out[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2] = c[r];
}

template <class T>
constexpr int kDepth = 16;
template <>
constexpr int kDepth<HalfK8> = 8;
template <>
constexpr int kDepth<Tf32> = 8;

template <class T>
T of_float(float x) {
  return T(x);
}
template <>
Tf32 of_float(float x) {
  return {std::bit_cast<uint32_t>(x)};
}
template <>
HalfK8 of_float(float x) {
  return {__half(x)};
}
template <class T>
double value_of(T x) {
  return static_cast<float>(x);
}
template <>
double value_of(HalfK8 x) {
  return static_cast<float>(x.value);
}
/// The lower 13 bits are not looked at.
template <>
double value_of(Tf32 x) {
  return std::bit_cast<float>(x.bits & ~uint32_t{0x1fff});
}

template <class T>
struct Product {
  std::vector<T> A = std::vector<T>(16 * kDepth<T>, of_float<T>(0.0f));
  std::vector<T> B = std::vector<T>(kDepth<T> * 8, of_float<T>(0.0f));
  std::vector<float> C = std::vector<float>(16 * 8, 0.0f);

  std::vector<float> on_device() const {
    const DeviceBuffer<T> a(A), b(B);
    const DeviceBuffer<float> c(C);
    return run_kernel<float>(
        16 * 8, [&](float* out) { multiplies<<<1, 32>>>(a.data(), b.data(), c.data(), out); });
  }
  /// The sum for one element, and that of its terms' magnitudes.
  struct Sum {
    double value, magnitude;
  };
  Sum sum(int row, int column) const {
    const double c = C[static_cast<size_t>(row * 8 + column)];
    Sum sum{c, std::abs(c)};
    for (int k = 0; k < kDepth<T>; ++k) {
      const double term = value_of(A[static_cast<size_t>(row * kDepth<T> + k)]) *
                          value_of(B[static_cast<size_t>(k * 8 + column)]);
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
    return sum;
  }
};

/// One product of a by b for each row of C, and what is added to it.
struct Case {
  float a0, b0, a1, b1, c, want;
};
template <class T>
void check_cases(const std::vector<Case>& cases) {
  for (size_t first = 0; first < cases.size(); first += 8) {
    Product<T> product;
    const size_t count = std::min<size_t>(8, cases.size() - first);
    // Case i is row i and column i, so each has its own A and B.
    for (size_t i = 0; i < count; ++i) {
      const Case& one = cases[first + i];
      product.A[i * kDepth<T>] = of_float<T>(one.a0);
      product.A[i * kDepth<T> + 1] = of_float<T>(one.a1);
      product.B[i] = of_float<T>(one.b0);
      product.B[8 + i] = of_float<T>(one.b1);
      product.C[i * 8 + i] = one.c;
    }
    const auto got = product.on_device();
    for (size_t i = 0; i < count; ++i) {
      const Case& one = cases[first + i];
      INFO(one.a0 << " * " << one.b0 << " + " << one.a1 << " * " << one.b1 << " + " << one.c);
      if (std::isnan(one.want))
        CHECK(std::isnan(got[i * 8 + i]));
      else
        CHECK(got[i * 8 + i] == one.want);
    }
  }
}

// ---- ldmatrix, stmatrix

/// C (32, 32) = A (32, K)·B (K, 32), of two warps: arrays of a 16-bit type in shared memory, whose
/// rows are padded against conflicts. K is a multiple of 16.
template <class T>
__global__ void multiplies_tiles(const T* A, const T* B, int K, float* C) {
  __shared__ __align__(16) T As[32][16 + 8], Bs[16][32 + 8];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, m0 = thread / 32 * 16;
  float c[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = thread; i < 32 * 16; i += 64) As[i / 16][i % 16] = A[i / 16 * K + k0 + i % 16];
    for (int i = thread; i < 16 * 32; i += 64) Bs[i / 32][i % 32] = B[k0 * 32 + i];
    __syncthreads();
    uint32_t a[4];
    ldmatrix<4>(a, &As[m0 + lane % 16][lane / 16 * 8]);
    for (int j = 0; j < 4; j += 2) {
      uint32_t b[4];
      ldmatrix_trans<4>(b, &Bs[lane % 16][j * 8 + lane / 16 * 8]);
      mma_m16n8k16<T>(c[j], a, b[0], b[1]);
      mma_m16n8k16<T>(c[j + 1], a, b[2], b[3]);
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    for (int r = 0; r < 4; ++r)
      C[(m0 + lane / 4 + 8 * (r / 2)) * 32 + 8 * j + 2 * (lane % 4) + r % 2] = c[j][r];
}

struct Rows {
  int at[32];  // of the tile, the row that each lane points to
};
constexpr int kRows = 40;

template <int COUNT, bool TRANS>
__global__ void loads_matrices(Rows rows, uint32_t* out) {
  __shared__ __align__(16) Bits tile[kRows][8];
  for (unsigned i = threadIdx.x; i < kRows * 8; i += 32)
    tile[i / 8][i % 8] = static_cast<Bits>(257 * i);
  __syncwarp();
  uint32_t fragment[COUNT];
  const void* row = &tile[rows.at[threadIdx.x]];
  if (TRANS)
    ldmatrix_trans<COUNT>(fragment, row);
  else
    ldmatrix<COUNT>(fragment, row);
  for (int i = 0; i < COUNT; ++i) out[i * 32 + threadIdx.x] = fragment[i];
}

template <int COUNT>
__global__ void stores_matrices(Rows rows, Bits* out) {
  __shared__ __align__(16) Bits tile[kRows][8];
  for (unsigned i = threadIdx.x; i < kRows * 8; i += 32) tile[i / 8][i % 8] = 0xabcd;
  __syncwarp();
  uint32_t fragment[COUNT];
  for (unsigned i = 0; i < COUNT; ++i) {
    const unsigned first = 64 * i + 8 * (threadIdx.x / 4) + 2 * (threadIdx.x % 4);
    fragment[i] = (first + 1) << 16 | first;
  }
  stmatrix<COUNT>(&tile[rows.at[threadIdx.x]], fragment);
  __syncwarp();
  for (unsigned i = threadIdx.x; i < kRows * 8; i += 32) out[i] = tile[i / 8][i % 8];
}

Rows random_rows(unsigned seed) {
  std::vector<int> all(kRows);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), std::mt19937(seed));
  Rows rows;
  std::copy_n(all.begin(), 32, rows.at);
  return rows;
}

template <int COUNT, bool TRANS>
void check_loads(const Rows& rows) {
  INFO("ldmatrix x" << COUNT << (TRANS ? " transposed" : ""));
  const auto got = run_kernel<uint32_t>(
      32 * COUNT, [&](uint32_t* out) { loads_matrices<COUNT, TRANS><<<1, 32>>>(rows, out); });
  for (int i = 0; i < COUNT; ++i)
    for (int lane = 0; lane < 32; ++lane)
      for (int e = 0; e < 2; ++e) {
        int row = lane / 4, column = 2 * (lane % 4) + e;
        if (TRANS) std::swap(row, column);
        const auto want = static_cast<Bits>(257 * (8 * rows.at[8 * i + row] + column));
        CHECK((got[static_cast<size_t>(32 * i + lane)] >> 16 * e & 0xffff) == want);
      }
}

template <int COUNT>
void check_stores(const Rows& rows) {
  INFO("stmatrix x" << COUNT);
  std::vector<Bits> want(kRows * 8, 0xabcd);
  for (int i = 0; i < 8 * COUNT; ++i)
    for (int column = 0; column < 8; ++column)
      want[static_cast<size_t>(8 * rows.at[i] + column)] = static_cast<Bits>(8 * i + column);
  CHECK(run_kernel<Bits>(kRows * 8,
                         [&](Bits* out) { stores_matrices<COUNT><<<1, 32>>>(rows, out); }) == want);
}

// ---- Conversions

template <class T>
__global__ void packs(const float* low, const float* high, uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = pack<T>(low[i], high[i]);
}
__global__ void rounds_to_tf32(const float* in, uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = to_tf32(in[i]);
}
__global__ void takes_powers(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = exp2_approx(in[i]);
}

std::vector<float> floats_of(const std::vector<uint32_t>& bits) {
  std::vector<float> floats;
  for (const uint32_t b : bits) floats.push_back(std::bit_cast<float>(b));
  return floats;
}

template <class T>
Bits bits_of(T x) {
  return std::bit_cast<Bits>(x);
}

}  // namespace

// A sum of integers has nothing to round, whatever the order: an element in another place shows.
TEMPLATE_TEST_CASE("mma multiplies what the lanes hold together", "[matrix]", __nv_bfloat16, __half,
                   Tf32) {
  need("sm_80");
  std::mt19937 random(1);
  std::uniform_int_distribution<int> integers(-9, 9);
  for (int round = 0; round < 4; ++round) {
    Product<TestType> product;
    for (auto* matrix : {&product.A, &product.B})
      for (TestType& x : *matrix) x = of_float<TestType>(static_cast<float>(integers(random)));
    for (float& x : product.C) x = static_cast<float>(integers(random));
    const auto got = product.on_device();
    for (int i = 0; i < 16 * 8; ++i)
      CHECK(got[static_cast<size_t>(i)] == product.sum(i / 8, i % 8).value);
  }
}

// A tensor core cuts the terms off below the largest one's 24th bit or so, where the simulator
// rounds once: so many units of 2^-24 for each of its terms.
TEMPLATE_TEST_CASE("mma adds up in fp32", "[matrix]", __nv_bfloat16, __half, HalfK8, Tf32) {
  need("sm_80");
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 8; ++round) {
    Product<TestType> product;
    for (auto* matrix : {&product.A, &product.B})
      for (TestType& x : *matrix) x = of_float<TestType>(normal(random));
    for (float& x : product.C) x = normal(random);
    const auto got = product.on_device();
    for (int i = 0; i < 16 * 8; ++i) {
      const auto want = product.sum(i / 8, i % 8);
      const double bound = 4 * 0x1p-22 * want.magnitude;
      CHECK(std::abs(got[static_cast<size_t>(i)] - want.value) <= bound);
    }
  }
}

TEMPLATE_TEST_CASE("mma keeps infinities and NaN", "[matrix]", __nv_bfloat16, __half, HalfK8,
                   Tf32) {
  need("sm_80");
  check_cases<TestType>({{kInfinity, 1, 0, 0, 0, kInfinity},
                         {kInfinity, -2, 0, 0, 5, -kInfinity},
                         {kInfinity, 0, 0, 0, 0, kNan},
                         {kInfinity, 1, kInfinity, -1, 0, kNan},
                         {kNan, 0, 0, 0, 0, kNan},
                         {1, kNan, 0, 0, kInfinity, kNan},
                         {1, 1, 0, 0, kInfinity, kInfinity},
                         {1, 1, 0, 0, kNan, kNan},
                         {kInfinity, 1, 0, 0, -kInfinity, kNan},
                         {-1, 1, 0, 0, 1, 0}});
}

TEST_CASE("mma keeps subnormals, and overflows to infinity", "[matrix]") {
  need("sm_80");
  check_cases<__nv_bfloat16>({{0x1p-133f, 0x1p100f, 0, 0, 0, 0x1p-33f},
                              {0x1p-130f, 0.5f, 0, 0, 0, 0x1p-131f},
                              {0x1p-70f, 0x1p-70f, 0, 0, 0, 0x1p-140f},
                              {0x1p-133f, 1, 0, 0, 0x1p-149f, 0x1p-133f + 0x1p-149f},
                              {0x1p100f, 0x1p100f, 0, 0, 0, kInfinity},
                              {-0x1p100f, 0x1p100f, 0, 0, 0, -kInfinity},
                              {0x1p64f, 0x1p63f, 0x1p64f, 0x1p63f, 0, kInfinity}});
  check_cases<__half>({{0x1p-24f, 1, 0, 0, 0, 0x1p-24f},
                       {0x1p-24f, 0x1p-24f, 0, 0, 0, 0x1p-48f},
                       {0x1p-20f, 3, 0, 0, 1, 1 + 3 * 0x1p-20f},
                       {65504, 65504, 0, 0, 0, 65504.0f * 65504.0f},
                       {1, 1, 0, 0, 0x1p-149f, 1}});
  check_cases<HalfK8>({{0x1p-24f, 0x1p-24f, 0, 0, 0, 0x1p-48f},
                       {65504, 65504, 0, 0, 0, 65504.0f * 65504.0f},
                       {1, 1, 0, 0, 0x1p-149f, 1}});
  check_cases<Tf32>({{0x1p-136f, 0x1p100f, 0, 0, 0, 0x1p-36f},
                     {0x1p-70f, 0x1p-70f, 0, 0, 0, 0x1p-140f},
                     {0x1p100f, 0x1p100f, 0, 0, 0, kInfinity}});
}

TEST_CASE("mma of TF32 does not look at the lower 13 bits", "[matrix]") {
  need("sm_80");
  const auto low = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  check_cases<Tf32>({{low(0x3f800fff), 1, 0, 0, 0, 1},  // not even to round
                     {low(0x3f801fff), 1, 0, 0, 0, 1},
                     {low(0x3f802000), 1, 0, 0, 0, 1 + 0x1p-10f},
                     {1, low(0xbf803fff), 0, 0, 0, -1 - 0x1p-10f},
                     {low(0x00001fff), 0x1p100f, 0, 0, 0, 0}});
}

TEMPLATE_TEST_CASE("ldmatrix and mma together multiply tiles", "[matrix]", __nv_bfloat16, __half) {
  need("sm_80");
  constexpr int K = 80;
  std::mt19937 random(5);
  std::uniform_int_distribution<int> integers(-9, 9);
  std::vector<TestType> A(32 * K), B(K * 32);
  for (auto* matrix : {&A, &B})
    for (TestType& x : *matrix) x = TestType(static_cast<float>(integers(random)));
  const DeviceBuffer<TestType> a(A), b(B);
  const auto got = run_kernel<float>(
      32 * 32, [&](float* C) { multiplies_tiles<<<1, 64>>>(a.data(), b.data(), K, C); });
  for (size_t row = 0; row < 32; ++row)
    for (size_t column = 0; column < 32; ++column) {
      float want = 0;
      for (size_t k = 0; k < K; ++k)
        want += static_cast<float>(A[row * K + k]) * static_cast<float>(B[k * 32 + column]);
      CHECK(got[row * 32 + column] == want);
    }
}

TEST_CASE("ldmatrix gives each lane its elements of the rows that lanes point to", "[matrix]") {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Rows rows = random_rows(seed);
    check_loads<1, false>(rows);
    check_loads<2, false>(rows);
    check_loads<4, false>(rows);
    check_loads<1, true>(rows);
    check_loads<2, true>(rows);
    check_loads<4, true>(rows);
  }
  Rows same;  // several lanes may point to one row
  for (int lane = 0; lane < 32; ++lane) same.at[lane] = lane / 5;
  check_loads<4, false>(same);
  check_loads<4, true>(same);
}

TEST_CASE("stmatrix writes to the rows that lanes point to", "[matrix]") {
  need("sm_90");
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Rows rows = random_rows(seed);
    check_stores<1>(rows);
    check_stores<2>(rows);
    check_stores<4>(rows);
  }
}

TEMPLATE_TEST_CASE("pack puts two rounded numbers into a register", "[matrix]", __nv_bfloat16,
                   __half) {
  need("sm_80");
  constexpr int kAll = 1 << 16;
  std::vector<float> low, high;
  for (int i = 0; i < kAll; ++i) {
    low.push_back(static_cast<float>(std::bit_cast<TestType>(static_cast<Bits>(i))));
    high.push_back(std::bit_cast<float>(static_cast<uint32_t>(i) * 65539u));
  }
  const DeviceBuffer<float> lows(low), highs(high);
  const auto got = run_kernel<uint32_t>(kAll, [&](uint32_t* out) {
    packs<TestType><<<kAll / 256, 256>>>(lows.data(), highs.data(), out);
  });
  int wrong = 0;
  for (size_t i = 0; i < kAll; ++i) {
    const auto is = [](uint32_t bits, float value) {
      const auto narrow = static_cast<Bits>(bits);
      return std::isnan(value) ? std::isnan(static_cast<float>(std::bit_cast<TestType>(narrow)))
                               : narrow == bits_of(TestType(value));
    };
    wrong += !is(got[i] & 0xffff, low[i]) || !is(got[i] >> 16, high[i]);
    if (!std::isnan(low[i])) wrong += (got[i] & 0xffff) != i;
  }
  CHECK(wrong == 0);
}

TEST_CASE("to_tf32 rounds to nearest, ties away from zero", "[matrix]") {
  need("sm_80");
  std::vector<uint32_t> bits = {0x00000000, 0x80000000, 0x00000fff, 0x00001000, 0x80001000,
                                0x3f800fff, 0x3f801000, 0xbf801000, 0x3f803000, 0x3f802fff,
                                0x3fffffff, 0x3fffe000, 0x7f7fefff, 0x7f7ff000, 0x7f7fffff,
                                0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff,
                                0x7f801fff, 0x7f800001, 0x7fbfffff, 0x7fffe000};
  const size_t specials = bits.size();
  std::mt19937 random(3);
  while (bits.size() < 4096) bits.push_back(static_cast<uint32_t>(random()));
  const DeviceBuffer<float> in(floats_of(bits));
  const auto got = run_kernel<uint32_t>(
      4096, [&](uint32_t* out) { rounds_to_tf32<<<4096 / 256, 256>>>(in.data(), out); });
  for (size_t i = 0; i < bits.size(); ++i) {
    INFO((i < specials ? "special " : "random ") << std::hex << bits[i]);
    const float value = std::bit_cast<float>(bits[i]);
    // The last place that is kept: 2^-10 of the exponent's; 2^-136 below 2^-126.
    int exponent = 0;
    std::frexp(value, &exponent);
    const double place = std::ldexp(1.0, std::max(exponent - 11, -136));
    const double magnitude = std::floor(std::abs(value) / place + 0.5) * place;
    // What an H200 does to a NaN: it cuts the lower bits off, and can be left with infinity.
    const uint32_t want =
        std::isfinite(value)
            ? std::bit_cast<uint32_t>(static_cast<float>(std::copysign(magnitude, value)))
            : bits[i] & 0xffffe000;
    CHECK(got[i] == want);
  }
}

TEST_CASE("exp2_approx is within two units in the last place", "[matrix]") {
  need("sm_80");
  std::vector<float> x = {0,          1,    -1,        127,        128,   1000,
                          -125,       -127, -149,      -150,       -1000, kInfinity,
                          -kInfinity, kNan, 0x1p-149f, -0x1p-149f, 0.5f,  -0.5f};
  std::mt19937 random(4);
  std::uniform_real_distribution<float> wide(-140, 130), narrow(-1, 1);
  while (x.size() < 4096) x.push_back(x.size() % 2 ? wide(random) : narrow(random));
  const DeviceBuffer<float> in(x);
  const auto got = run_kernel<float>(
      4096, [&](float* out) { takes_powers<<<4096 / 256, 256>>>(in.data(), out); });
  for (size_t i = 0; i < x.size(); ++i) {
    INFO("2^" << x[i]);
    const double want = std::exp2(double{x[i]});
    if (std::isnan(x[i]))
      CHECK(std::isnan(got[i]));
    else if (want >= 0x1p128)
      CHECK(got[i] == kInfinity);
    else if (want < 0x1p-126 * (1 - 0x1p-20))
      CHECK(got[i] == 0.0f);
    else if (want >= 0x1p-126 * (1 + 0x1p-20))
      CHECK(std::abs(got[i] - want) <= 0x1p-22 * want);
  }
}
