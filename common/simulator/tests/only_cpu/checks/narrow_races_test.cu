// Races of accesses narrower than the four bytes that share a record: neighbours are no race, and
// hide none.
#include <catch2/catch_template_test_macros.hpp>
#include <cstdint>

#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

/// What a thread does to an array of four narrow elements.
struct Act {
  char what;  // 'r' or 'w'; 'W' writes the whole four bytes, 'R' reads them
  int element;
};
/// What each thread does, one after another; nothing orders them.
struct Acts {
  Act of_thread[4];
};

template <class T>
__device__ void act(T* array, Act mine, int thread, T* out) {
  uint32_t* const fours = reinterpret_cast<uint32_t*>(array);
  if (mine.what == 'r') out[thread] = array[mine.element];
  if (mine.what == 'w') array[mine.element] = static_cast<T>(1 + thread);
  if (mine.what == 'R') out[thread] = static_cast<T>(fours[0]);
  if (mine.what == 'W') fours[0] = static_cast<uint32_t>(7 + thread);
}

template <class T>
__global__ void in_global_memory(Acts acts, T* array, T* out) {
  const int thread = static_cast<int>(threadIdx.x + blockIdx.x);
  act(array, acts.of_thread[thread], thread, out);
}
template <class T>
__global__ void in_shared_memory(Acts acts, T* out) {
  alignas(4) __shared__ T array[4];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0)
    for (T& element : array) element = 0;
  __syncthreads();
  act(array, acts.of_thread[thread], thread, out);
}
template <class T>
__global__ void in_dynamic_shared_memory(Acts acts, T* out) {
  extern __shared__ uint32_t fours[];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) fours[0] = fours[1] = 0;
  __syncthreads();
  act(reinterpret_cast<T*>(fours), acts.of_thread[thread], thread, out);
}

/// Is it a race, in each kind of memory, for threads of one block and of several?
template <class T>
bool races(const Acts& acts) {
  tutorial::DeviceBuffer<T> array(std::vector<T>(4, 0));
  tutorial::DeviceBuffer<T> out(8);
  in_global_memory<T><<<1, 4>>>(acts, array.data(), out.data());
  const bool found = Outcome{}.error != cudaSuccess;
  in_shared_memory<T><<<1, 4>>>(acts, out.data());
  CHECK((Outcome{}.error != cudaSuccess) == found);
  in_dynamic_shared_memory<T><<<1, 4, 8>>>(acts, out.data());
  CHECK((Outcome{}.error != cudaSuccess) == found);
  in_global_memory<T><<<4, 1>>>(acts, array.data(), out.data());
  CHECK((Outcome{}.error != cudaSuccess) == found);
  return found;
}

constexpr Act kNothing{' ', 0};

}  // namespace

TEMPLATE_TEST_CASE("neighbours in four bytes do not race", "[checks]", uint8_t, uint16_t) {
  CHECK_FALSE(races<TestType>({{{'w', 0}, {'w', 1}, kNothing, kNothing}}));
  CHECK_FALSE(races<TestType>({{{'r', 0}, {'w', 1}, kNothing, kNothing}}));
  CHECK_FALSE(races<TestType>({{{'w', 1}, {'r', 0}, {'r', 0}, kNothing}}));
  CHECK_FALSE(races<TestType>({{{'r', 1}, {'R', 0}, {'r', 0}, kNothing}}));
}

TEMPLATE_TEST_CASE("a neighbour's access hides no race", "[checks]", uint8_t, uint16_t) {
  CHECK(races<TestType>({{{'w', 0}, {'w', 1}, {'w', 0}, kNothing}}));
  CHECK(races<TestType>({{{'w', 0}, {'w', 1}, {'r', 0}, kNothing}}));
  CHECK(races<TestType>({{{'r', 0}, {'w', 1}, {'w', 0}, kNothing}}));
  CHECK(races<TestType>({{{'r', 1}, {'r', 0}, {'r', 1}, {'w', 0}}}));
}

TEMPLATE_TEST_CASE("a whole four races with each of its parts", "[checks]", uint8_t, uint16_t) {
  CHECK(races<TestType>({{{'w', 1}, {'R', 0}, kNothing, kNothing}}));
  CHECK(races<TestType>({{{'W', 0}, {'r', 1}, kNothing, kNothing}}));
  CHECK(races<TestType>({{{'R', 0}, {'w', 1}, kNothing, kNothing}}));
  CHECK(races<TestType>({{{'r', 1}, {'W', 0}, kNothing, kNothing}}));
  CHECK(races<TestType>({{{'w', 0}, {'W', 0}, kNothing, kNothing}}));
  // Parted by the first access and whole again by the second, which the third meets.
  CHECK(races<TestType>({{{'r', 0}, kNothing, {'W', 0}, kNothing}}));
}
