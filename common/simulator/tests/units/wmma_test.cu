// CUDA's own matrix products on tensor cores, nvcuda::wmma, against plain loops. The numbers are
// integers, so that nothing is rounded in whatever order they are added up.
#include <mma.h>

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <random>
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;
using namespace nvcuda;

namespace {

constexpr unsigned kPad = 8;  // elements between the lines of a matrix in memory

/// Where element (row, column) of a matrix lies.
template <class Layout>
constexpr bool kByRows = std::is_same_v<Layout, wmma::row_major>;
__host__ __device__ constexpr unsigned stride_of(int rows, int columns, bool by_rows) {
  return static_cast<unsigned>(by_rows ? columns : rows) + kPad;
}
__host__ __device__ constexpr unsigned size_of(int rows, int columns, bool by_rows) {
  return static_cast<unsigned>(by_rows ? rows : columns) * stride_of(rows, columns, by_rows);
}

template <int M, int N, class InT, class SumT, class LayoutA, class LayoutB>
struct Shape {
  static constexpr int m = M, n = N, k = 16;
  using T = InT;
  using Sum = SumT;
  using A = LayoutA;
  using B = LayoutB;
};

/// out = 2·(A·B + C), once through shared memory and once without.
template <class S>
__global__ void multiplies(const typename S::T* A, const typename S::T* B, const typename S::Sum* C,
                           bool through_shared, bool by_rows, typename S::Sum* out) {
#ifdef HAS_SM_80
  using T = typename S::T;
  using Sum = typename S::Sum;
  constexpr unsigned SIZE = 32 * (16 + kPad) + 32;
  __shared__ __align__(32) T a_tile[SIZE], b_tile[SIZE];
  __shared__ __align__(32) Sum tile[32 * (32 + kPad)];
  if (through_shared) {
    for (unsigned i = threadIdx.x; i < size_of(S::m, S::k, kByRows<typename S::A>); i += 32)
      a_tile[i] = A[i];
    for (unsigned i = threadIdx.x; i < size_of(S::k, S::n, kByRows<typename S::B>); i += 32)
      b_tile[i] = B[i];
    for (unsigned i = threadIdx.x; i < size_of(S::m, S::n, by_rows); i += 32) tile[i] = C[i];
    __syncwarp();
  }
  wmma::fragment<wmma::matrix_a, S::m, S::n, S::k, T, typename S::A> a;
  wmma::fragment<wmma::matrix_b, S::m, S::n, S::k, T, typename S::B> b;
  wmma::fragment<wmma::accumulator, S::m, S::n, S::k, Sum> c, twice;
  const wmma::layout_t layout = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  const unsigned stride = stride_of(S::m, S::n, by_rows);
  wmma::load_matrix_sync(a, through_shared ? a_tile : A,
                         stride_of(S::m, S::k, kByRows<typename S::A>));
  wmma::load_matrix_sync(b, through_shared ? b_tile : B,
                         stride_of(S::k, S::n, kByRows<typename S::B>));
  wmma::load_matrix_sync(c, through_shared ? tile : C, stride, layout);
  wmma::mma_sync(c, a, b, c);
  wmma::fill_fragment(twice, 0.0f);
  for (int i = 0; i < c.num_elements; ++i) twice.x[i] = c.x[i] + c.x[i];
  if (through_shared) {
    __syncwarp();
    wmma::store_matrix_sync(tile, twice, stride, layout);
    __syncwarp();
    for (unsigned i = threadIdx.x; i < size_of(S::m, S::n, by_rows); i += 32) out[i] = tile[i];
  } else {
    wmma::store_matrix_sync(out, twice, stride, layout);
  }
#endif
}

template <class T>
std::vector<T> random_integers(unsigned count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> integers(-9, 9);
  std::vector<T> numbers;
  for (unsigned i = 0; i < count; ++i) numbers.push_back(T(static_cast<float>(integers(random))));
  return numbers;
}

template <class T>
float at(const std::vector<T>& matrix, int rows, int columns, bool by_rows, int row, int column) {
  const unsigned stride = stride_of(rows, columns, by_rows);
  const unsigned line = static_cast<unsigned>(by_rows ? row : column);
  return static_cast<float>(matrix[line * stride + static_cast<unsigned>(by_rows ? column : row)]);
}

template <class S>
void check(bool through_shared, bool by_rows) {
  INFO(S::m << "x" << S::n << "x" << S::k << (kByRows<typename S::A> ? " row" : " col")
            << (kByRows<typename S::B> ? " row" : " col") << (by_rows ? " row" : " col")
            << (through_shared ? " shared" : " global"));
  using T = typename S::T;
  using Sum = typename S::Sum;
  constexpr bool a_by_rows = kByRows<typename S::A>, b_by_rows = kByRows<typename S::B>;
  const auto A = random_integers<T>(size_of(S::m, S::k, a_by_rows), 1);
  const auto B = random_integers<T>(size_of(S::k, S::n, b_by_rows), 2);
  const auto C = random_integers<Sum>(size_of(S::m, S::n, by_rows), 3);
  const DeviceBuffer<T> a(A), b(B);
  const DeviceBuffer<Sum> c(C);
  const auto got = run_kernel<Sum>(static_cast<int64_t>(C.size()), [&](Sum* out) {
    multiplies<S><<<1, 32>>>(a.data(), b.data(), c.data(), through_shared, by_rows, out);
  });
  int wrong = 0;
  for (int row = 0; row < S::m; ++row)
    for (int column = 0; column < S::n; ++column) {
      float want = at(C, S::m, S::n, by_rows, row, column);
      for (int k = 0; k < S::k; ++k)
        want += at(A, S::m, S::k, a_by_rows, row, k) * at(B, S::k, S::n, b_by_rows, k, column);
      wrong += at(got, S::m, S::n, by_rows, row, column) != 2 * want;
    }
  CHECK(wrong == 0);
}

template <int M, int N, class T, class Sum>
void check_layouts() {
  using R = wmma::row_major;
  using C = wmma::col_major;
  for (const bool through_shared : {true, false})
    for (const bool by_rows : {true, false}) {
      check<Shape<M, N, T, Sum, R, R>>(through_shared, by_rows);
      check<Shape<M, N, T, Sum, R, C>>(through_shared, by_rows);
      check<Shape<M, N, T, Sum, C, R>>(through_shared, by_rows);
      check<Shape<M, N, T, Sum, C, C>>(through_shared, by_rows);
    }
}

}  // namespace

TEST_CASE("wmma multiplies bfloat16", "[matrix][wmma]") {
  need_sm_80();
  check_layouts<16, 16, __nv_bfloat16, float>();
  check_layouts<32, 8, __nv_bfloat16, float>();
  check_layouts<8, 32, __nv_bfloat16, float>();
}

TEST_CASE("wmma multiplies half, added up in float", "[matrix][wmma]") {
  need_sm_80();
  check_layouts<16, 16, __half, float>();
  check_layouts<32, 8, __half, float>();
  check_layouts<8, 32, __half, float>();
}

TEST_CASE("wmma multiplies half, added up in half", "[matrix][wmma]") {
  need_sm_80();
  check_layouts<16, 16, __half, __half>();
  check_layouts<32, 8, __half, __half>();
  check_layouts<8, 32, __half, __half>();
}

#ifdef HAS_SM_80
TEST_CASE("a fragment of wmma has as many elements as on a GPU", "[matrix][wmma]") {
  using namespace wmma;
  STATIC_CHECK(int{fragment<matrix_a, 16, 16, 16, __half, row_major>::num_elements} == 16);
  STATIC_CHECK(int{fragment<matrix_b, 32, 8, 16, __half, row_major>::num_elements} == 16);
  STATIC_CHECK(int{fragment<matrix_a, 16, 16, 16, __nv_bfloat16, col_major>::num_elements} == 8);
  STATIC_CHECK(int{fragment<matrix_a, 32, 8, 16, __nv_bfloat16, col_major>::num_elements} == 16);
  STATIC_CHECK(int{fragment<matrix_b, 32, 8, 16, __nv_bfloat16, row_major>::num_elements} == 4);
  STATIC_CHECK(int{fragment<matrix_a, 8, 32, 16, __nv_bfloat16, row_major>::num_elements} == 4);
  STATIC_CHECK(int{fragment<accumulator, 8, 32, 16, float>::num_elements} == 8);
}
#endif
