// What programs from elsewhere do: kernels by pointer and by name, __CUDA_ARCH__, functions with
// C's linkage, dynamic shared memory outside of functions.
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

extern __shared__ int held[];

__global__ void known_everywhere(int* out) {
  __shared__ int row[50];
  row[threadIdx.x] = 1;
  out[threadIdx.x] = row[threadIdx.x];
}

namespace {

__global__ void twice(int* values) {
  values[threadIdx.x] *= 2;
}
__global__ void plus_one(int* values);
template <class T>
__global__ void add(T* values, T by) {
  values[threadIdx.x] += by;
}

using Kernel = void (*)(int*);
void launch_pointer(Kernel kernel, int* values) {
  kernel<<<1, 32>>>(values);
}
template <class K, class... A>
void launch_any(K kernel, A... arguments) {
  kernel<<<1, 32>>>(arguments...);
}
template <Kernel K>
void launch_parameter(int* values) {
  K<<<1, 32>>>(values);
}

// The kernels' names, for other things.
namespace host {
int twice(int x) {
  return 2 * x;
}
struct Adder {
  int add(int x, int by) const { return x + by; }
};
}  // namespace host

extern "C" __global__ void reverse_c(int* values) {
  __shared__ int row[32];
  row[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = row[31 - threadIdx.x];
}

__device__ void keep(int value) {
  held[threadIdx.x] = value;
}
__global__ void reverse_held(int* values) {
  keep(values[threadIdx.x]);
  __syncthreads();
  values[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
  int4* const wide = reinterpret_cast<int4*>(held);
  if (threadIdx.x == 0) values[0] += wide[1].x - *(held + 4);
}

// Programs that had to bring an atomicAdd of their own, for old GPUs.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double* address, double value) {
  return *address + value;
}
#endif
__global__ void add_doubles(double* sum) {
  atomicAdd(sum, 0.5);
}
__host__ __device__ int where() {
#ifdef __CUDA_ARCH__
  return __CUDA_ARCH__ >= 700 ? 2 : 1;
#else
  return 0;
#endif
}
__global__ void ask_where(int* out) {
  out[0] = where();
}

typedef float (*Operation)(float, float);
__device__ __forceinline__ float sum_of(float a, float b) {
  return a + b;
}
__device__ __forceinline__ float product_of(float a, float b) {
  return a * b;
}
__device__ const Operation operations[] = {sum_of, product_of};
template <Operation OPERATION>
__global__ void apply(float* out) {
  out[0] = OPERATION(3, 4);
  for (int i = 0; i < 2; ++i) out[1 + i] = operations[i](5, 6);
}

__global__ void small_functions(unsigned* out) {
  const clock_t begin = clock();
  const long long begin64 = clock64();
  out[0] = umin(3u, 0xffffffffu) + umax(5u, 7u);
  out[1] = static_cast<unsigned>(llmin(-3ll, 4ll) + llmax(10ll, -1ll));
  out[2] = static_cast<unsigned>(ullmin(3ull, ~0ull) + ullmax(9ull, 2ull));
  out[3] = clock() - begin >= 0 && clock64() - begin64 >= 0;
  out[4] = __isGlobal(out) != 0;
  __shared__ int shared;
  shared = 1;
  out[5] = (__isShared(&shared) != 0) + 2u * (__isShared(out) != 0) + static_cast<unsigned>(shared);
}

}  // namespace

namespace {
__global__ void plus_one(int* values) {
  values[threadIdx.x] += 1;
}
}  // namespace

TEST_CASE("kernels by pointer, as an argument and as a parameter", "[brought]") {
  tutorial::DeviceBuffer<int> values(std::vector<int>(32, 5));
  auto pointer = &twice;
  pointer<<<1, 32>>>(values.data());
  launch_pointer(plus_one, values.data());
  launch_any(add<int>, values.data(), 4);
  launch_parameter<twice>(values.data());
  const Kernel table[] = {plus_one, twice};
  for (Kernel kernel : table) kernel<<<1, 32>>>(values.data());
  CUDA_CHECK_LAUNCH();
  CHECK(values.to_host() == std::vector<int>(32, ((5 * 2 + 1 + 4) * 2 + 1) * 2));
  CHECK(host::twice(4) == 8);
  CHECK(host::Adder{}.add(1, 2) == 3);
}

TEST_CASE("shared memory with C's linkage, and outside of functions", "[brought]") {
  std::vector<int> counted(32);
  for (int i = 0; i < 32; ++i) counted[i] = i;
  tutorial::DeviceBuffer<int> values(counted);
  reverse_c<<<1, 32>>>(values.data());
  CUDA_CHECK_LAUNCH();
  for (int i = 0; i < 32; ++i) CHECK(values.to_host()[i] == 31 - i);
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, reverse_c));
  CHECK(attributes.sharedSizeBytes == 128);
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, known_everywhere));
  CHECK(attributes.sharedSizeBytes >= 200);
  CHECK(attributes.sharedSizeBytes <= 208);  // nvcc rounds up to 16 bytes
  reverse_held<<<1, 32, 128>>>(values.data());
  CUDA_CHECK_LAUNCH();
  CHECK(values.to_host() == counted);
}

TEST_CASE("__CUDA_ARCH__ in device code", "[brought]") {
  CHECK(run_kernel<int>(1, [](int* out) { ask_where<<<1, 1>>>(out); })[0] == 2);
  tutorial::DeviceBuffer<double> sum(std::vector<double>(1, 1.0));
  add_doubles<<<2, 32>>>(sum.data());
  CUDA_CHECK_LAUNCH();
  CHECK(sum.to_host()[0] == 33);
}

TEST_CASE("__forceinline__ functions by pointer", "[brought]") {
  CHECK(run_kernel<float>(3, [](float* out) { apply<product_of><<<1, 1>>>(out); }) ==
        std::vector<float>{12, 11, 30});
}

TEST_CASE("small functions", "[brought]") {
  CHECK(run_kernel<unsigned>(6, [](unsigned* out) { small_functions<<<1, 1>>>(out); }) ==
        std::vector<unsigned>{10, 7, 12, 1, 1, 2});
}
