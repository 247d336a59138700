// C = A·B by tiles in shared memory; from plain and from pitched arrays.
#include <tuple>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

/// hA × wA times wA × wB, all of them multiples of the block's size.
template <int BLOCK_SIZE>
__global__ void matrix_mul(float* C, const float* A, const float* B, int wA, int wB) {
  int bx = blockIdx.x, by = blockIdx.y;
  int tx = threadIdx.x, ty = threadIdx.y;
  int a_begin = wA * BLOCK_SIZE * by, a_end = a_begin + wA - 1, a_step = BLOCK_SIZE;
  int b_begin = BLOCK_SIZE * bx, b_step = BLOCK_SIZE * wB;
  float sum = 0;
  for (int a = a_begin, b = b_begin; a <= a_end; a += a_step, b += b_step) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    As[ty][tx] = A[a + wA * ty + tx];
    Bs[ty][tx] = B[b + wB * ty + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BLOCK_SIZE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[wB * BLOCK_SIZE * by + BLOCK_SIZE * bx + wB * ty + tx] = sum;
}

/// Any shape; a block walks over several tiles of C.
template <class T, int TILE>
__global__ void matrix_mul_ragged(const T* A, const T* B, T* C, int M, int N, int K) {
  __shared__ T As[TILE][TILE], Bs[TILE][TILE];
  for (int row0 = blockIdx.y * TILE; row0 < M; row0 += gridDim.y * TILE)
    for (int col0 = blockIdx.x * TILE; col0 < N; col0 += gridDim.x * TILE) {
      int row = row0 + threadIdx.y, col = col0 + threadIdx.x;
      T sum = 0;
      for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        int k = t * TILE;
        As[threadIdx.y][threadIdx.x] =
            row < M && k + (int)threadIdx.x < K ? A[row * K + k + threadIdx.x] : T(0);
        Bs[threadIdx.y][threadIdx.x] =
            col < N && k + (int)threadIdx.y < K ? B[(k + threadIdx.y) * N + col] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
      }
      if (row < M && col < N) C[row * N + col] = sum;
    }
}

/// A matrix as samples like to pass it: by value, with its pitch in bytes.
struct Matrix {
  int rows, cols;
  size_t pitch;
  float* data;
  __host__ __device__ float* row(int r) const {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(data) + r * pitch);
  }
};
__global__ void matrix_mul_pitched(Matrix A, Matrix B, Matrix C) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= C.rows || col >= C.cols) return;
  float sum = 0;
  for (int k = 0; k < A.cols; ++k) sum += A.row(row)[k] * B.row(k)[col];
  C.row(row)[col] = sum;
}

// ---- Host

template <class T>
std::vector<T> values_for(int rows, int cols, int seed) {
  std::vector<T> values(rows * cols);
  for (int i = 0; i < rows * cols; ++i) values[i] = static_cast<T>((i * 7919 + seed) % 23 - 11);
  return values;
}
/// Small whole numbers: float's sums are exact.
template <class T>
std::vector<T> multiplied(const std::vector<T>& A, const std::vector<T>& B, int M, int N, int K) {
  std::vector<T> C(M * N, 0);
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < N; ++n) C[m * N + n] += A[m * K + k] * B[k * N + n];
  return C;
}

template <int BLOCK_SIZE>
void check_multiples() {
  const int M = 2 * BLOCK_SIZE, N = 3 * BLOCK_SIZE, K = 4 * BLOCK_SIZE;
  const auto a = values_for<float>(M, K, 1), b = values_for<float>(K, N, 2);
  const tutorial::DeviceBuffer<float> A(a), B(b);
  CHECK(run_kernel<float>(M * N, [&](float* C) {
          dim3 threads(BLOCK_SIZE, BLOCK_SIZE), grid(N / threads.x, M / threads.y);
          matrix_mul<BLOCK_SIZE><<<grid, threads>>>(C, A.data(), B.data(), K, N);
        }) == multiplied(a, b, M, N, K));
}

template <class T, int TILE>
void check_ragged(int M, int N, int K) {
  CAPTURE(M, N, K, TILE);
  const auto a = values_for<T>(M, K, 3), b = values_for<T>(K, N, 4);
  const tutorial::DeviceBuffer<T> A(a), B(b);
  const auto want = multiplied(a, b, M, N, K);
  for (dim3 grid : {dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(1, 1), dim3(2, 3)}) {
    const auto got = run_kernel<T>(M * N, [&](T* C) {
      if (grid.x > 0 && grid.y > 0)
        matrix_mul_ragged<T, TILE><<<grid, dim3(TILE, TILE)>>>(A.data(), B.data(), C, M, N, K);
    });
    CHECK(got == want);
  }
}

Matrix to_device(const std::vector<float>& values, int rows, int cols) {
  Matrix matrix{rows, cols, 0, nullptr};
  CUDA_CHECK(cudaMallocPitch(&matrix.data, &matrix.pitch, cols * sizeof(float), rows));
  CUDA_CHECK(cudaMemcpy2D(matrix.data, matrix.pitch, values.data(), cols * sizeof(float),
                          cols * sizeof(float), rows, cudaMemcpyHostToDevice));
  return matrix;
}

}  // namespace

TEST_CASE("sample: matrix multiplication of whole tiles", "[sample]") {
  check_multiples<8>();
  check_multiples<16>();
  check_multiples<32>();
}

TEST_CASE("sample: matrix multiplication of any shape", "[sample]") {
  const int shapes[][3] = {{0, 3, 2}, {1, 1, 1},    {1, 33, 7},   {33, 1, 40},
                           {5, 6, 0}, {16, 16, 16}, {45, 70, 33}, {64, 31, 65}};
  for (const auto& [M, N, K] : shapes) {
    check_ragged<float, 16>(M, N, K);
    check_ragged<int, 16>(M, N, K);
    check_ragged<double, 8>(M, N, K);
  }
  check_ragged<float, 32>(45, 70, 33);
}

TEST_CASE("sample: matrix multiplication from pitched memory", "[sample]") {
  for (const auto& [M, N, K] : {std::tuple{1, 1, 1}, {5, 3, 70}, {33, 130, 17}}) {
    CAPTURE(M, N, K);
    const auto a = values_for<float>(M, K, 5), b = values_for<float>(K, N, 6);
    const Matrix A = to_device(a, M, K), B = to_device(b, K, N);
    Matrix C{M, N, 0, nullptr};
    CUDA_CHECK(cudaMallocPitch(&C.data, &C.pitch, N * sizeof(float), M));
    CHECK(C.pitch >= N * sizeof(float));
    CHECK(C.pitch % 128 == 0);
    // The padding stays as it was.
    CUDA_CHECK(cudaMemset2D(C.data, C.pitch, 0x55, C.pitch, M));
    matrix_mul_pitched<<<dim3((N + 15) / 16, (M + 7) / 8), dim3(16, 8)>>>(A, B, C);
    CUDA_CHECK_LAUNCH();
    std::vector<float> got(M * N);
    CUDA_CHECK(cudaMemcpy2D(got.data(), N * sizeof(float), C.data, C.pitch, N * sizeof(float), M,
                            cudaMemcpyDeviceToHost));
    CHECK(got == multiplied(a, b, M, N, K));
    std::vector<unsigned char> rows(C.pitch * M);
    CUDA_CHECK(cudaMemcpy(rows.data(), C.data, rows.size(), cudaMemcpyDeviceToHost));
    bool untouched = true;
    for (int m = 0; m < M; ++m)
      for (size_t i = N * sizeof(float); i < C.pitch; ++i)
        untouched &= rows[m * C.pitch + i] == 0x55;
    CHECK(untouched);
    for (const Matrix& matrix : {A, B, C}) CUDA_CHECK(cudaFree(matrix.data));
  }
}
