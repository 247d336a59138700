// Launches: index arithmetic, limits and their errors, every way to name a kernel and pass
// arguments.
#include <algorithm>
#include <numeric>
#include <thread>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

/// Each thread writes its number in the grid, as computed from all built-in variables, at its
/// place.
__global__ void all_indices(int* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned at = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[at] = static_cast<int>(at);
}

__global__ void write_one(int* out) {
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0)
    out[0] = 1;
}

__global__ void count_blocks(int* counter) {
  if (threadIdx.x == 0) atomicAdd(counter, 1);
}

struct Settings {
  float scale;
  int offsets[3];
  const float* in;
};
enum class Mode : char { plain = 'p', negated = 'n' };
__global__ void by_value(Settings settings, Mode mode, bool twice, int64_t index, float* out) {
  float value = settings.scale * settings.in[index] + static_cast<float>(settings.offsets[2]);
  if (mode == Mode::negated) value = -value;
  if (threadIdx.x == blockDim.x - 1) out[0] = twice ? 2 * value : value;
  settings.scale = 0;  // a copy, of this thread alone
}
__global__ void converted(float from_int, int64_t from_small, const int* maybe_null, float* out) {
  out[0] = from_int / 2;
  out[1] = static_cast<float>(from_small / 2);
  out[2] = maybe_null == nullptr ? 1.0f : 0.0f;
}
__global__ void changes_its_argument(int count, int* out) {
  while (count > 3) --count;
  out[threadIdx.x] = count;
}

template <int N, class T>
__global__ void fill(T value, T* out) {
  if (threadIdx.x < N) out[threadIdx.x] = value;
}
template <class T>
__global__ void deduced(T* out, T value) {
  out[threadIdx.x] = value;
}
template <class T, int N, template <class> class Wrap>
__global__ void wrapped(Wrap<T> value, T* out) {
  out[threadIdx.x] = value.held + N;
}
template <class T>
struct Holder {
  T held;
};

namespace inner {
__global__ void named(int* out) {
  out[threadIdx.x] = 7;
}
}  // namespace inner

__global__ void overloaded(int* out) {
  out[0] = 1;
}
__global__ void overloaded(float* out) {
  out[0] = 2;
}

template <int N, class T>
void launch_from_template(T* out) {
  fill<N, T><<<1, 64>>>(T(N), out);
}

#define LAUNCH(kernel, threads, ...)     \
  do {                                   \
    kernel<<<1, threads>>>(__VA_ARGS__); \
  } while (false)

/// CUDA 12 calls an impossible grid or block an invalid configuration, CUDA 13 an invalid value.
bool is_bad_configuration(cudaError_t error) {
  return error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue;
}

cudaError_t error_of(dim3 grid, dim3 block, size_t shared = 0) {
  tutorial::DeviceBuffer<int> out(1);
  write_one<<<grid, block, shared>>>(out.data());
  const cudaError_t error = cudaGetLastError();
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(out.to_host()[0] == (error == cudaSuccess ? 1 : -1));  // it ran, or not at all
  return error;
}

}  // namespace

TEST_CASE("grids and blocks of three dimensions", "[launch]") {
  for (const dim3 grid : {dim3(1), dim3(7), dim3(3, 4), dim3(2, 3, 5), dim3(1, 1, 9)})
    for (const dim3 block : {dim3(1), dim3(33), dim3(8, 4), dim3(3, 5, 7), dim3(1, 1, 64),
                             dim3(1024), dim3(1, 1024)}) {
      const int threads = static_cast<int>(grid.x * grid.y * grid.z * block.x * block.y * block.z);
      const auto got =
          run_kernel<int>(threads, [&](int* out) { all_indices<<<grid, block>>>(out); });
      std::vector<int> want(threads);
      std::iota(want.begin(), want.end(), 0);
      CHECK(got == want);
    }
}

TEST_CASE("the largest grids", "[launch]") {
  for (const dim3 grid : {dim3(100000), dim3(1, 65535), dim3(1, 1, 65535)}) {
    tutorial::DeviceBuffer<int> counter(std::vector<int>{0});
    count_blocks<<<grid, 2>>>(counter.data());
    CUDA_CHECK_LAUNCH();
    CHECK(counter.to_host()[0] == static_cast<int>(grid.x * grid.y * grid.z));
  }
}

TEST_CASE("launches beyond CUDA's limits are refused", "[launch]") {
  CHECK(error_of(1, 1024) == cudaSuccess);
  CHECK(is_bad_configuration(error_of(1, 1025)));
  CHECK(is_bad_configuration(error_of(1, dim3(32, 33))));
  CHECK(is_bad_configuration(error_of(1, dim3(1, 1025))));
  CHECK(error_of(1, dim3(1, 1, 64)) == cudaSuccess);
  CHECK(is_bad_configuration(error_of(1, dim3(1, 1, 65))));
  CHECK(is_bad_configuration(error_of(dim3(1, 65536), 1)));
  CHECK(is_bad_configuration(error_of(dim3(1, 1, 65536), 1)));
  CHECK(is_bad_configuration(error_of(dim3(0x80000000u), 1)));
  for (const dim3 empty : {dim3(0), dim3(1, 0), dim3(1, 1, 0)}) {
    CHECK(is_bad_configuration(error_of(empty, 1)));
    CHECK(is_bad_configuration(error_of(1, empty)));
  }
  CHECK(error_of(1, 1, 48 * 1024) == cudaSuccess);
  CHECK(error_of(1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);
}

TEST_CASE("a refused launch leaves its error until it is read", "[launch]") {
  tutorial::DeviceBuffer<int> out(64);
  write_one<<<1, 2000>>>(out.data());
  CHECK(is_bad_configuration(cudaPeekAtLastError()));
  inner::named<<<1, 64>>>(out.data());  // works nevertheless
  CHECK(is_bad_configuration(cudaPeekAtLastError()));
  CHECK(out.to_host() == std::vector<int>(64, 7));
  CHECK(is_bad_configuration(cudaGetLastError()));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("arguments are passed by value", "[launch]") {
  const tutorial::DeviceBuffer<float> in(std::vector<float>{1, 2, 3});
  const Settings settings{10, {4, 5, 6}, in.data()};
  const auto plain = run_kernel<float>(
      1, [&](float* out) { by_value<<<1, 3>>>(settings, Mode::plain, false, 2, out); });
  CHECK(plain[0] == 36);
  const auto negated = run_kernel<float>(1, [&](float* out) {
    by_value<<<1, 1>>>({10, {4, 5, 6}, in.data()}, Mode::negated, true, int64_t{1}, out);
  });
  CHECK(negated[0] == -52);
  const auto got = run_kernel<float>(3, [](float* out) {
    const short small = 9;
    converted<<<1, 1>>>(3, small, nullptr, out);
  });
  CHECK(got == std::vector<float>{1.5f, 4, 1});
  const auto counts =
      run_kernel<int>(64, [](int* out) { changes_its_argument<<<1, 64>>>(50, out); });
  CHECK(counts == std::vector<int>(64, 3));
}

TEST_CASE("ways to name a kernel", "[launch]") {
  const std::vector<int> sevens(64, 7);
  const auto run = [](auto launch) { return run_kernel<int>(64, launch); };
  CHECK(run([](int* out) { inner::named<<<1, 64>>>(out); }) == sevens);
  CHECK(run([](int* out) { (inner::named)<<<1, 64>>>(out); }) == sevens);
  CHECK(run([](int* out) { fill<64, int><<<1, 64>>>(7, out); }) == sevens);
  CHECK(run([](int* out) { fill<64><<<1, 64>>>(7, out); }) == sevens);
  CHECK(run([](int* out) { fill<(64 > 32 ? 64 : 32)><<<1, 64>>>(7, out); }) == sevens);
  CHECK(run([](int* out) { deduced<<<1, 64>>>(out, 7); }) == sevens);
  CHECK(run([](int* out) {
          wrapped<int, 3, Holder><<<dim3(1), dim3(64)>>>(Holder<int>{4}, out);
        }) == sevens);
  CHECK(run([](int* out) {
          void (*const pointer)(int*) = inner::named;
          pointer<<<1, 64>>>(out);
        }) == sevens);
  CHECK(run([](int* out) {
          void (*const kernels[])(int*) = {all_indices, inner::named};
          kernels[1]<<<1, 64>>>(out);
        }) == sevens);
  CHECK(run([](int* out) { LAUNCH(inner::named, 64, out); }) == sevens);
  CHECK(run([](int* out) {
          const int count = 2;
          // clang-format off
          fill<64,  // over
               int>
              <<<count < 3 ? 1 : 2,
                 64>>>(
                  7, out);
          // clang-format on
        }) == sevens);
  CHECK(run_kernel<int>(1, [](int* out) { overloaded<<<1, 1>>>(out); })[0] == 1);
  CHECK(run_kernel<float>(1, [](float* out) { overloaded<<<1, 1>>>(out); })[0] == 2);
  CHECK(run([](int* out) { launch_from_template<64>(out); })[63] == 64);
}

TEST_CASE("launches from several host threads", "[launch]") {
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &right] {
      cudaStream_t stream = nullptr;
      int* out = nullptr;
      if (cudaStreamCreate(&stream) != cudaSuccess) return;
      if (cudaMalloc(&out, 64 * sizeof(int)) != cudaSuccess) return;
      int passes = 0;
      for (int round = 0; round < 20; ++round) {
        fill<64><<<1, 64, 0, stream>>>(100 * t + round, out);
        std::vector<int> got(64);
        const cudaError_t copied =
            cudaMemcpyAsync(got.data(), out, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream);
        passes += copied == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess &&
                  got == std::vector<int>(64, 100 * t + round);
      }
      // The last error belongs to the thread that made it.
      if (t % 2 == 0) fill<64><<<0, 64, 0, stream>>>(1, out);
      const cudaError_t error = cudaGetLastError();
      right[t] = passes == 20 && (t % 2 == 0 ? is_bad_configuration(error) : error == cudaSuccess);
      cudaFree(out);
      cudaStreamDestroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(8, 1));
}
