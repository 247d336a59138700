// Inline PTX of tensor cores against plain C++.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

// ---- Tensor cores

enum Type { kHalf, kBfloat16 };

/// A (16, 16), B (16, 8) of 16 bits. Into `out` four products (16, 8): in fp32 and in fp16, with
/// all columns of A and with the first eight.
template <Type TYPE>
__global__ void products(const uint4* A, const uint4* B, float* out) {
  __shared__ uint4 tile_a[16][2], tile_b[16];
  const unsigned lane = threadIdx.x;
  tile_a[lane / 2][lane % 2] = A[lane];
  if (lane < 16) tile_b[lane] = B[lane];
  __syncwarp();
  const auto row_a = static_cast<unsigned>(__cvta_generic_to_shared(&tile_a[lane % 16][lane / 16]));
  const auto row_b = static_cast<unsigned>(__cvta_generic_to_shared(&tile_b[lane % 16]));
  unsigned a[4], b[2], same[3];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row_a));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(row_b));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(same[0]) : "r"(row_a));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(same[1]), "=r"(same[2])
               : "r"(row_a));
  if (same[0] != a[0] || same[1] != a[0] || same[2] != a[1]) return;
  float c[2][4] = {};
  unsigned halves[2][2] = {};
  if constexpr (TYPE == kBfloat16) {
#ifdef HAS_SM_80
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,  %1,  %2,  %3}, {%4,  %5,  %6,  %7}, {%8,  %9}, {%0,  %1,  %2,  %3};\n"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
  } else {
#ifdef HAS_SM_80
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(c[0][0]), "=f"(c[0][1]), "=f"(c[0][2]), "=f"(c[0][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f), "f"(0.0f),
          "f"(0.0f), "f"(0.0f));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
        "{%0, %1};"
        : "+r"(halves[0][0]), "+r"(halves[0][1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
        : "+r"(halves[1][0]), "+r"(halves[1][1])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned at = (lane / 4 + 8 * (r / 2)) * 8 + 2 * (lane % 4) + r % 2;
      const auto half = static_cast<unsigned short>(halves[i][r / 2] >> 16 * (r % 2));
      out[2 * 128 * i + at] = c[i][r];
      out[(2 * i + 1) * 128 + at] = __half2float(__ushort_as_half(half));
    }
}

/// A (16, 8), B (8, 8).
__global__ void product_tf32(const float* A, const float* B, float* out) {
#ifdef HAS_SM_80
  const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4], b[2];
  for (unsigned r = 0; r < 4; ++r)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[r]) : "f"(A[(g + 8 * (r % 2)) * 8 + t + 4 * (r / 2)]));
  for (unsigned r = 0; r < 2; ++r)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[r]) : "f"(B[(t + 4 * r) * 8 + g]));
  float c[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (unsigned r = 0; r < 4; ++r) out[(g + 8 * (r / 2)) * 8 + 2 * t + r % 2] = c[r];
#endif
}

/// Small whole numbers, whose products every type holds exactly.
std::vector<float> whole_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random() % 9) - 4;
  return numbers;
}
float element(const std::vector<float>& A, const std::vector<float>& B, size_t at, size_t depth,
              size_t width) {
  float sum = 0;
  for (size_t k = 0; k < depth; ++k) sum += A[at / 8 * width + k] * B[k * 8 + at % 8];
  return sum;
}
template <class T>
std::vector<T> converted(const std::vector<float>& from) {
  std::vector<T> to;
  for (const float x : from) to.push_back(T(x));
  return to;
}
template <class T, Type TYPE>
std::vector<float> multiplied(const std::vector<float>& A, const std::vector<float>& B) {
  const DeviceBuffer<T> a(converted<T>(A)), b(converted<T>(B));
  return run_kernel<float>(4 * 128, [&](float* out) {
    products<TYPE><<<1, 32>>>(reinterpret_cast<const uint4*>(a.data()),
                              reinterpret_cast<const uint4*>(b.data()), out);
  });
}

}  // namespace

TEST_CASE("inline PTX: products of 16 bits", "[ptx]") {
  need_sm_80();
  const std::vector<float> A = whole_numbers(16 * 16, 1), B = whole_numbers(16 * 8, 2);
  const auto half = multiplied<__half, kHalf>(A, B);
  const auto bfloat16 = multiplied<__nv_bfloat16, kBfloat16>(A, B);
  for (size_t i = 0; i < 4 * 128; ++i) {
    CAPTURE(i);
    const float expected = element(A, B, i % 128, i < 256 ? 16 : 8, 16);
    CHECK(half[i] == expected);
    CHECK(bfloat16[i] == (i < 128 ? expected : 0));
  }
}

TEST_CASE("inline PTX: products of TF32", "[ptx]") {
  need_sm_80();
  const std::vector<float> A = whole_numbers(16 * 8, 3), B = whole_numbers(8 * 8, 4);
  const DeviceBuffer<float> a(A), b(B);
  const auto out =
      run_kernel<float>(128, [&](float* to) { product_tf32<<<1, 32>>>(a.data(), b.data(), to); });
  for (size_t i = 0; i < 128; ++i) CHECK(out[i] == element(A, B, i, 8, 8));
}
