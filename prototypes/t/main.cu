#include <cublas_v2.h>
#include <cstdio>
#include <vector>
#include <random>
#include <cmath>
#include <algorithm>
#include "kernel.cuh"
std::initializer_list<Entry> v1(); std::initializer_list<Entry> v2(); std::initializer_list<Entry> v3(); std::initializer_list<Entry> v4();
__global__ void ref64(const float* A, const float* B, double* C, int64_t rows, int64_t N, int64_t K, int64_t step) {  // rows r*step
  int64_t j = blockIdx.x * 256 + threadIdx.x; int64_t r = blockIdx.y; if (j >= N) return;
  double s = 0; for (int64_t k = 0; k < K; ++k) s += (double)A[r * step * K + k] * B[k * N + j]; C[r * N + j] = s;
}
__global__ void fill(float* x, size_t n, uint32_t seed, int kind) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x) {
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull; z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull; z = (z ^ (z >> 27)) * 0x94D049BB133111EBull; z ^= z >> 31;
    float u = ((uint32_t)(z >> 40) + 0.5f) / 16777216.f, v = (uint32_t)(z & 0xffffff) / 16777216.f;
    x[i] = kind ? v : sqrtf(-2 * logf(u)) * cospif(2 * v);
  }
}
__global__ void flush(const float4* x, size_t n, float* o) { float s = 0; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += x[i].x; if (s == 1.2345f) *o = s; }
float *A, *B, *C, *big; cublasHandle_t h, hp;
void sgemm(cublasHandle_t h, int64_t M, int64_t N, int64_t K) { float a = 1, b = 0; cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &a, B, N, A, K, &b, C, N); }
void errors(int64_t M, int64_t N, int64_t K, const std::vector<double>& want, int64_t rows, int64_t step, double* rms, double* mx) {
  std::vector<float> got(N); double s = 0, m = 0, w = 0;
  for (int64_t r = 0; r < rows; ++r) { cudaMemcpy(got.data(), C + r * step * N, N * 4, cudaMemcpyDeviceToHost);
    for (int64_t j = 0; j < N; ++j) { double e = std::abs(got[j] - want[r * N + j]); if (!(e < 1e30)) e = 1e30; s += e * e; w += want[r * N + j] * want[r * N + j]; m = std::max(m, e); } }
  *rms = std::sqrt(s / w); *mx = m / std::sqrt(w / (rows * N));
}
int main(int argc, char**) {
  cudaMalloc(&A, (size_t)4 << 26); cudaMalloc(&B, (size_t)4 << 26); cudaMalloc(&C, (size_t)4 << 26); cudaMalloc(&big, 1 << 28); double* D; cudaMalloc(&D, 64 * 8192 * 8);
  cudaMemset(big, 0, 1 << 28);
  cublasCreate(&h); cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH); cublasCreate(&hp); cublasSetMathMode(hp, CUBLAS_TF32_TENSOR_OP_MATH);
  std::vector<Entry> all; for (auto l : {v4(), v1(), v2(), v3()}) for (auto e : l) all.push_back(e);
  struct S { int64_t M, N, K; int kind; };
  std::vector<S> shapes = {{512, 1024, 64, 0}, {512, 1024, 1024, 1}, {4096, 4096, 4096, 0}};
  std::vector<bool> bad(all.size());
  for (auto& s : shapes) {
    fill<<<1024, 256>>>(A, s.M * s.K, 1, s.kind); fill<<<1024, 256>>>(B, s.K * s.N, 2, s.kind);
    int64_t rows = std::min<int64_t>(64, s.M), step = s.M / rows;
    ref64<<<dim3((s.N + 255) / 256, rows), 256>>>(A, B, D, rows, s.N, s.K, step);
    std::vector<double> want(rows * s.N); cudaMemcpy(want.data(), D, want.size() * 8, cudaMemcpyDeviceToHost);
    double r, m; printf("errors %ld x %ld x %ld %s\n", s.M, s.N, s.K, s.kind ? "uniform" : "normal");
    cudaMemset(C, 0xff, s.M * s.N * 4); sgemm(h, s.M, s.N, s.K); errors(s.M, s.N, s.K, want, rows, step, &r, &m); printf("  %-34s rms %.2e largest %.2e\n", "cuBLAS fp32", r, m);
    cudaMemset(C, 0xff, s.M * s.N * 4); sgemm(hp, s.M, s.N, s.K); errors(s.M, s.N, s.K, want, rows, step, &r, &m); printf("  %-34s rms %.2e largest %.2e\n", "cuBLAS tf32", r, m);
    for (size_t i = 0; i < all.size(); ++i) { cudaMemset(C, 0xff, s.M * s.N * 4); all[i].fn(A, B, C, s.M, s.N, s.K, true); auto e = cudaDeviceSynchronize(); if (e) { printf("%s: %s\n", all[i].name, cudaGetErrorString(e)); return 1; } if (cudaGetLastError()) { bad[i] = true; }
      errors(s.M, s.N, s.K, want, rows, step, &r, &m); printf("  %-34s rms %.2e largest %.2e\n", all[i].name, r, m); }
  }
  cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  std::vector<std::vector<float>> ms(all.size() + 2);
  for (int rep = 0; rep < 22; ++rep)
    for (size_t i = 0; i < all.size() + 2; ++i) {
      flush<<<1024, 256>>>((float4*)big, (1 << 28) / 16, C);
      cudaEventRecord(e0);
      if (i < all.size()) all[i].fn(A, B, C, 4096, 4096, 4096, true); else sgemm(i == all.size() ? h : hp, 4096, 4096, 4096);
      cudaEventRecord(e1); cudaEventSynchronize(e1); float t; cudaEventElapsedTime(&t, e0, e1); if (rep > 1) ms[i].push_back(t);
    }
  for (auto& v : ms) std::sort(v.begin(), v.end());
  float base = ms[all.size()][10];
  printf("times at 4096^3\n");
  for (size_t i = 0; i < ms.size(); ++i) {
    const char* name = i < all.size() ? all[i].name : i == all.size() ? "cuBLAS fp32" : "cuBLAS tf32"; cudaFuncAttributes at{}; int occ = 0;
    if (i < all.size() && all[i].k) { cudaFuncGetAttributes(&at, all[i].k); cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ, all[i].k, all[i].threads, all[i].smem); }
    printf("  %-34s %.3f ms  %.1f TFLOP/s  %.3f x   regs %d local %zu blocks/SM %d (min %.3f max %.3f)\n", name, ms[i][10], 137.439 / ms[i][10], base / ms[i][10], at.numRegs, at.localSizeBytes, occ, ms[i][0], ms[i].back());
  }
}
