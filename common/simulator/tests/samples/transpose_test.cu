// Matrix transpose: naive, and through a padded tile of shared memory.
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;

__global__ void transpose_naive(const int* in, int* out, int width, int height) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) out[x * height + y + j] = in[(y + j) * width + x];
}

__global__ void transpose_tiled(const int* in, int* out, int width, int height) {
  __shared__ int tile[TILE_DIM][TILE_DIM + 1];  // + 1: a column's elements lie in different banks
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

/// The same with the tile's size chosen at the launch.
__global__ void transpose_dynamic(const int* in, int* out, int width, int height) {
  extern __shared__ int flat[];
  int dim = blockDim.x, pitch = dim + 1;
  int x = blockIdx.x * dim + threadIdx.x, y = blockIdx.y * dim + threadIdx.y;
  if (x < width && y < height) flat[threadIdx.y * pitch + threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * dim + threadIdx.x;
  y = blockIdx.x * dim + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = flat[threadIdx.x * pitch + threadIdx.y];
}

}  // namespace

TEST_CASE("sample: matrix transpose", "[sample]") {
  const std::pair<int, int> shapes[] = {{0, 5},   {1, 1},   {1, 100}, {100, 1},
                                        {31, 33}, {32, 32}, {64, 96}, {130, 71}};
  for (auto [width, height] : shapes) {
    CAPTURE(width, height);
    const int count = width * height;
    std::vector<int> in(count), want(count);
    std::iota(in.begin(), in.end(), 0);
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c) want[c * height + r] = in[r * width + c];
    const tutorial::DeviceBuffer<int> source(in);
    const auto check = [&](auto launch) {
      CHECK(run_kernel<int>(count, [&](int* out) {
              if (count > 0) launch(out);
            }) == want);
    };
    const int w = width, h = height;
    const dim3 block(TILE_DIM, BLOCK_ROWS);
    const dim3 grid((w + TILE_DIM - 1) / TILE_DIM, (h + TILE_DIM - 1) / TILE_DIM);
    check([&](int* out) { transpose_naive<<<grid, block>>>(source.data(), out, w, h); });
    check([&](int* out) { transpose_tiled<<<grid, block>>>(source.data(), out, w, h); });
    for (int dim : {5, 16})
      check([&](int* out) {
        dim3 blocks((w + dim - 1) / dim, (h + dim - 1) / dim);
        transpose_dynamic<<<blocks, dim3(dim, dim), dim*(dim + 1) * sizeof(int)>>>(source.data(),
                                                                                   out, w, h);
      });
  }
}
