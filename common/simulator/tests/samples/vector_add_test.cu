// Vector addition, as in any first CUDA program: one thread per element, and a grid-stride loop.
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>

#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

template <class T>
__global__ void add_one_each(const T* a, const T* b, T* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <class T>
__global__ void add_grid_stride(const T* a, const T* b, T* c, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
}

/// Four elements per load; the last thread adds the rest one by one.
__global__ void add_float4(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    float4 x = reinterpret_cast<const float4*>(a)[i];
    float4 y = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
  if (i == n / 4)
    for (int j = n / 4 * 4; j < n; ++j) c[j] = a[j] + b[j];
}

/// Host and device share the arrays.
__global__ void add_in_place(float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}

template <class T>
void check_vector_add(int n) {
  std::vector<T> a(n), b(n), want(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<T>(i % 1009 - 500);
    b[i] = static_cast<T>(i * 7 % 2003);
    want[i] = a[i] + b[i];
  }
  const tutorial::DeviceBuffer<T> da(a), db(b);
  CAPTURE(n);
  CHECK(run_kernel<T>(n, [&](T* c) {
          if (n > 0) add_one_each<<<(n + 255) / 256, 256>>>(da.data(), db.data(), c, n);
        }) == want);
  for (int blocks : {1, 3, 40})
    CHECK(run_kernel<T>(n, [&](T* c) {
            add_grid_stride<<<blocks, 128>>>(da.data(), db.data(), c, n);
          }) == want);
  if constexpr (std::is_same_v<T, float>)
    CHECK(run_kernel<T>(n, [&](T* c) {
            add_float4<<<n / 4 / 64 + 1, 64>>>(da.data(), db.data(), c, n);
          }) == want);
}

}  // namespace

TEST_CASE("sample: vector addition", "[sample]") {
  for (int n : {0, 1, 2, 3, 255, 256, 257, 1000, 10007}) {
    check_vector_add<int>(n);
    check_vector_add<float>(n);  // exact: small whole numbers
    check_vector_add<double>(n);
  }
}

TEST_CASE("sample: vector addition in managed memory", "[sample]") {
  for (int n : {1, 1000, 4099}) {
    float *x = nullptr, *y = nullptr;
    CUDA_CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CUDA_CHECK(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; ++i) {
      x[i] = 1.0f;
      y[i] = static_cast<float>(i);
    }
    add_in_place<<<(n + 255) / 256, 256>>>(x, y, n);
    CUDA_CHECK_LAUNCH();
    CUDA_CHECK(cudaDeviceSynchronize());
    bool same = true;
    for (int i = 0; i < n; ++i) same &= x[i] == static_cast<float>(i + 1);
    CHECK(same);
    CUDA_CHECK(cudaFree(x));
    CUDA_CHECK(cudaFree(y));
  }
}
