#include <cublas_v2.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <string>
#include "kernel.cuh"
#include "vs.hpp"
#define DECL(NAME, ...) extern template void launch<Cfg<__VA_ARGS__>, bf16>(const bf16*, const bf16*, bf16*, int, int, int); \
  extern template void launch<Cfg<__VA_ARGS__>, float>(const bf16*, const bf16*, float*, int, int, int);
LIST(DECL)
#define CK(x) CUDA_CHECK(x)
template <class Out> std::vector<Variant<Out>> variants() {
#define ENTRY(NAME, ...) {#NAME, &launch<Cfg<__VA_ARGS__>, Out>},
  return {LIST(ENTRY)};
}
__device__ unsigned hash(unsigned x) { x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16; return x; }
__global__ void fill(bf16* p, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    const float u = (hash(2 * i + seed) + 1.f) / 4294967808.f, v = hash(2 * i + 1 + seed) / 4294967296.f;
    p[i] = __float2bfloat16(sqrtf(-2 * logf(u)) * cospif(2 * v));
  }
}
__global__ void flush(const float4* p, size_t n, float* out) {
  float s = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += p[i].x;
  if (s == 1.2345f) *out = s;
}
__device__ float tf(float x) { return x; }
__device__ float tf(bf16 x) { return __bfloat162float(x); }
template <class Out>
__global__ void diff(const Out* got, const float* want, size_t n, float bound, int* wrong, float* worst) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    const float e = fabsf(tf(got[i]) - want[i]);
    const float b = bound + (sizeof(Out) == 2 ? fabsf(want[i]) * 0x1.02p-8f : 0);
    if (!(e <= b)) atomicAdd(wrong, 1);
    atomicMax((int*)worst, __float_as_int(e));
  }
}
cublasHandle_t h;
template <class Out> void cublas(const bf16* A, const bf16* B, Out* C, int M, int N, int K) {
  float one = 1, zero = 0;
  cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, CUDA_R_16BF, N, A, CUDA_R_16BF, K, &zero, C, sizeof(Out) == 2 ? CUDA_R_16BF : CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
float4* big; float* sink;
template <class Out> void bench(int M, int N, int K, int repeats, const char* only, bool time) {
  bf16 *A, *B; Out* C; float* W;
  CK(cudaMalloc(&A, (size_t)M * K * 2)); CK(cudaMalloc(&B, (size_t)N * K * 2)); CK(cudaMalloc(&C, (size_t)M * N * sizeof(Out))); CK(cudaMalloc(&W, (size_t)M * N * 4));
  fill<<<1024, 256>>>(A, (size_t)M * K, 1); fill<<<1024, 256>>>(B, (size_t)N * K, 77777);
  cublas<float>(A, B, W, M, N, K);
  int* wrong; CK(cudaMallocManaged(&wrong, 8)); float* worst = (float*)(wrong + 1);
  std::vector<Variant<Out>> vs = {{"cublas", &cublas<Out>}};
  for (auto& v : variants<Out>()) if (!only || (std::string(only) + ",").find(std::string(v.name) + ",") != std::string::npos) vs.push_back(v);
  std::vector<char> ok;
  for (auto& v : vs) {
    CK(cudaMemset(C, 0xff, (size_t)M * N * sizeof(Out)));
    *wrong = 0; *worst = 0;
    v.fn(A, B, C, M, N, K);
    diff<<<1024, 256>>>(C, W, (size_t)M * N, 4e-7f * K + 1e-5f, wrong, worst);
    auto e = cudaDeviceSynchronize();
    if (e != cudaSuccess) { printf("%s: %s\n", v.name, cudaGetErrorString(e)); exit(1); }
    if (*wrong || !time) printf("  %s %d worst %g  %s\n", v.name, *wrong, *worst, *wrong ? "WRONG" : "ok");
    ok.push_back(*wrong == 0);
  }
  if (time) {
    std::vector<std::vector<float>> ms(vs.size());
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
    for (int r = 0; r < repeats + 2; ++r)
      for (size_t i = 0; i < vs.size(); ++i) {
        flush<<<1024, 256>>>(big, (256 << 20) / 16, sink);
        cudaEventRecord(a); vs[i].fn(A, B, C, M, N, K); cudaEventRecord(b);
        CK(cudaEventSynchronize(b)); float t; cudaEventElapsedTime(&t, a, b);
        if (r >= 2) ms[i].push_back(t);
      }
    double base = 0;
    printf("%d x %d x %d %s:\n", M, N, K, sizeof(Out) == 2 ? "bf16" : "fp32");
    for (size_t i = 0; i < vs.size(); ++i) {
      std::sort(ms[i].begin(), ms[i].end());
      const float med = ms[i][ms[i].size() / 2];
      if (i == 0) base = med;
      printf("   %-18s %.4f ms  %.0f TF  %.3f %s\n", vs[i].name, med, 2.0 * M * N * K / med / 1e9, base / med, ok[i] ? "" : "WRONG");
    }
  }
  fflush(stdout);
  cudaFree(A); cudaFree(B); cudaFree(C); cudaFree(W); cudaFree(wrong);
}
int main(int argc, char** argv) {
  setvbuf(stdout, 0, _IOLBF, 0);
  cublasCreate(&h);
  CK(cudaMalloc(&big, 256 << 20)); CK(cudaMalloc(&sink, 4));
  CK(cudaMemset(big, 0, 256 << 20));
  for (auto s : {std::array<int, 3>{128, 256, 64}, {512, 512, 256}, {300, 520, 200}, {1000, 1016, 72}, {3000, 5000, 2048}}) {
    printf("check %d %d %d\n", s[0], s[1], s[2]);
    bench<float>(s[0], s[1], s[2], 0, 0, false);
    bench<bf16>(s[0], s[1], s[2], 0, 0, false);
  }
  for (auto s : {std::array<int, 3>{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 1024, 4096}, {3000, 5000, 2048}, {16384, 512, 8192}, {2048, 2048, 2048}, {1024, 1024, 1024}}) {
    bench<bf16>(s[0], s[1], s[2], 20, 0, true);
    bench<float>(s[0], s[1], s[2], 20, 0, true);
  }
}
