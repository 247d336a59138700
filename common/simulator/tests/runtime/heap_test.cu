// Memory that kernels take for themselves: new, delete, malloc, free.
#include <cstdlib>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

struct Node {
  int value;
  Node* next;
};

/// A list of its own for each thread, built, summed and given back.
__global__ void lists(int* out) {
  Node* head = nullptr;
  for (int i = 0; i < 5; ++i) head = new Node{i + static_cast<int>(threadIdx.x), head};
  int sum = 0;
  while (head != nullptr) {
    sum += head->value;
    Node* const done = head;
    head = head->next;
    delete done;
  }
  out[threadIdx.x] = sum;
}

/// One thread allocates for its block.
__global__ void scratch(int* out) {
  __shared__ int* values;
  if (threadIdx.x == 0) values = static_cast<int*>(malloc(blockDim.x * sizeof(int)));
  __syncthreads();
  if (values == nullptr) return;
  values[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(values);
}

// What one kernel leaves, another one finds.
__device__ int* kept;
__global__ void leave(int count) {
  kept = new int[static_cast<size_t>(count)];
  for (int i = 0; i < count; ++i) kept[i] = 3 * i;
}
__global__ void find(int* out) {
  out[threadIdx.x] = kept[threadIdx.x];
}
__global__ void give_back() {
  delete[] kept;
}

__global__ void ask_for(size_t bytes, int* out) {
  void* const memory = malloc(bytes);
  out[0] = memory != nullptr;
  free(memory);
}

struct Shape {
  int side = 3;
  __device__ virtual int area() const { return 0; }
};
struct Square : Shape {
  __device__ int area() const override { return side * side; }
};
__global__ void make_square(Shape** shape) {
  *shape = new Square;
}
__global__ void measure(Shape* const* shape, int* area) {
  *area = (*shape)->area();
}

}  // namespace

TEST_CASE("heap: lists", "[heap]") {
  const auto got = run_kernel<int>(64, [](int* out) { lists<<<1, 64>>>(out); });
  for (int t = 0; t < 64; ++t) CHECK(got[t] == 10 + 5 * t);
}

TEST_CASE("heap: memory of a block", "[heap]") {
  const auto got = run_kernel<int>(40 * 48, [](int* out) { scratch<<<40, 48>>>(out); });
  for (int i = 0; i < 40 * 48; ++i) CHECK(got[i] == (47 - i % 48) * (47 - i % 48));
}

TEST_CASE("heap: memory outlives its kernel", "[heap]") {
  leave<<<1, 1>>>(32);
  CUDA_CHECK_LAUNCH();
  const auto got = run_kernel<int>(32, [](int* out) { find<<<1, 32>>>(out); });
  for (int i = 0; i < 32; ++i) CHECK(got[i] == 3 * i);
  give_back<<<1, 1>>>();
  CUDA_CHECK_LAUNCH();
}

TEST_CASE("heap: its limit", "[heap]") {
  size_t limit = 0;
  CUDA_CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit >= size_t{8} << 20);
  CHECK(run_kernel<int>(1, [](int* out) { ask_for<<<1, 1>>>(1000, out); })[0] == 1);
  CHECK(run_kernel<int>(1, [&](int* out) { ask_for<<<1, 1>>>(2 * limit, out); })[0] == 0);
}

TEST_CASE("an object with virtual functions, from one kernel to the next", "[runtime]") {
  tutorial::DeviceBuffer<Shape*> shape(1);
  tutorial::DeviceBuffer<int> area(1);
  make_square<<<1, 1>>>(shape.data());
  CUDA_CHECK_LAUNCH();
  measure<<<1, 1>>>(shape.data(), area.data());
  CUDA_CHECK_LAUNCH();
  CHECK(area.to_host()[0] == 9);
}
