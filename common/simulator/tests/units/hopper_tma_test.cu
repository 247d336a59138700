// Copies of tiles by the TMA unit, tensor maps, and barriers that count bytes.
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

/// Loads a tile of two dimensions and shows its bytes as they lie in shared memory.
__global__ void show_tile(const __grid_constant__ CUtensorMap map, int x, int y, int bytes,
                          unsigned char* out) {
  extern __shared__ unsigned char memory[];
  unsigned char* const tile = aligned_shared<unsigned char[1024]>(memory);
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
    prefetch_map(map);
  }
  __syncthreads();
  if (threadIdx.x < 32 && elect_one()) {
    barrier_arrive_expect(full, bytes);
    tma_load(tile, map, full, {x, y});
  }
  barrier_wait(full, 0);
  for (int i = static_cast<int>(threadIdx.x); i < bytes; i += 64) out[i] = tile[i];
}

/// Copies an array of 2, 3 or 4 dimensions by tiles. The tiles' numbers in the grid: the
/// coordinates divided by the box.
template <int DIMENSIONS>
__global__ void copy_tile(const __grid_constant__ CUtensorMap from,
                          const __grid_constant__ CUtensorMap to, int4 box, int bytes) {
  extern __shared__ unsigned char memory[];
  unsigned char* const tile = aligned_shared<unsigned char[1024]>(memory);
  __shared__ Barrier full;
  const int third = static_cast<int>(blockIdx.z) * box.z;
  int at[DIMENSIONS];
  at[0] = static_cast<int>(blockIdx.x) * box.x;
  at[1] = static_cast<int>(blockIdx.y) * box.y;
  if constexpr (DIMENSIONS > 2) at[2] = third % (1 << 16);
  if constexpr (DIMENSIONS > 3) at[3] = 0;
  if (threadIdx.x != 0) return;
  barrier_init(full, 1);
  barrier_init_fence();
  fence_async_proxy();
  barrier_arrive_expect(full, bytes);
  tma_load(tile, from, full, at, keep_long());
  barrier_wait(full, 0);
  tma_store(to, tile, at);
  tma_commit();
  tma_wait_read<0>();
  tma_wait<0>();
}

/// Each of `rounds` tiles of 64 numbers is brought by thread 0 into a ring of two stages, and
/// doubled in place by the others and stored.
__global__ void doubles(const __grid_constant__ CUtensorMap in,
                        const __grid_constant__ CUtensorMap out, int rounds) {
  __shared__ __align__(128) float tiles[2][64];
  __shared__ Barrier full[2], empty[2];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      barrier_init(full[stage], 1);
      barrier_init(empty[stage], 64);
    }
    barrier_init_fence();
  }
  __syncthreads();
  if (thread < 32) {  // the producer
    if (thread == 0)
      for (int i = 0; i < rounds; ++i) {
        barrier_wait(empty[i % 2], i / 2 % 2 ^ 1);
        barrier_arrive_expect(full[i % 2], 256);
        tma_load(tiles[i % 2], in, full[i % 2], {0, i});
      }
    return;
  }
  for (int i = 0; i < rounds; ++i) {
    barrier_wait(full[i % 2], i / 2 % 2);
    tiles[i % 2][thread - 32] *= 2;
    fence_async_proxy();
    named_sync(1, 64);
    if (thread == 32) {
      tma_store(out, tiles[i % 2], {0, i});
      tma_commit();
      tma_wait_read<0>();
    }
    barrier_arrive(empty[i % 2]);
  }
  if (thread == 32) tma_wait<0>();
}

std::vector<unsigned char> shown(const DeviceBuffer<float>& array, uint64_t columns, uint64_t rows,
                                 uint32_t box_columns, uint32_t box_rows, Swizzle swizzle, int x,
                                 int y) {
  const CUtensorMap map =
      tensor_map(array.data(), {columns, rows}, {columns}, {box_columns, box_rows}, swizzle);
  const int bytes = static_cast<int>(box_columns * box_rows * sizeof(float));
  return run_kernel<unsigned char>(bytes, [&](unsigned char* out) {
    show_tile<<<1, 64, static_cast<size_t>(bytes) + 1024>>>(map, x, y, bytes, out);
  });
}

}  // namespace

TEST_CASE("TMA: tiles and their swizzles, with zeros outside", "[hopper]") {
  need_sm_90a();
  constexpr int COLUMNS = 52, ROWS = 37;
  std::vector<float> numbers(COLUMNS * ROWS);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1);
  const DeviceBuffer<float> array(numbers);
  for (const Swizzle swizzle :
       {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128})
    for (const auto& [x, y] : {std::pair{0, 0}, {24, 8}, {48, 32}, {-8, -3}, {100, 0}}) {
      const int width = bytes_of(swizzle) / 4 * (swizzle == Swizzle::none ? 3 : 1);
      const auto tile =
          shown(array, COLUMNS, ROWS, static_cast<uint32_t>(width), 16, swizzle, x, y);
      int wrong = 0;
      for (int r = 0; r < 16; ++r)
        for (int c = 0; c < width; ++c) {
          const bool inside = x + c >= 0 && x + c < COLUMNS && y + r >= 0 && y + r < ROWS;
          const float want = inside ? numbers[(y + r) * COLUMNS + x + c] : 0.0f;
          float got;
          const unsigned byte = static_cast<unsigned>(4 * (r * width + c));
          memcpy(&got, &tile[swizzle == Swizzle::none ? byte : swizzled(byte, swizzle)], 4);
          wrong += got != want;
        }
      INFO("swizzle " << static_cast<int>(swizzle) << " at " << x << ", " << y);
      CHECK(wrong == 0);
    }
}

TEST_CASE("TMA: stores are clipped, 2 to 4 dimensions", "[hopper]") {
  need_sm_90a();
  const auto numbers = whole_numbers<__nv_bfloat16>(40 * 11 * 5, 3);
  const DeviceBuffer<__nv_bfloat16> from(numbers);
  const auto same = [&](const DeviceBuffer<__nv_bfloat16>& to) {
    CHECK(to.guards_intact());
    const auto got = to.to_host();
    int wrong = 0;
    for (size_t i = 0; i < numbers.size(); ++i) wrong += !(widened(got[i]) == widened(numbers[i]));
    return wrong == 0;
  };
  {
    DeviceBuffer<__nv_bfloat16> to(40 * 55);
    const std::vector<uint64_t> extents = {40, 55}, strides = {40};
    const auto a = tensor_map(from.data(), extents, strides, {32, 8}, Swizzle::bytes_64);
    const auto b = tensor_map(to.data(), extents, strides, {32, 8}, Swizzle::bytes_64);
    copy_tile<2><<<dim3(2, 7), 32, 512 + 1024>>>(a, b, make_int4(32, 8, 1, 1), 512);
    CUDA_CHECK_LAUNCH();
    CHECK(same(to));
  }
  {
    DeviceBuffer<__nv_bfloat16> to(40 * 55);
    const std::vector<uint64_t> extents = {40, 11, 5}, strides = {40, 440};
    const auto a = tensor_map(from.data(), extents, strides, {16, 4, 2}, Swizzle::none);
    const auto b = tensor_map(to.data(), extents, strides, {16, 4, 2}, Swizzle::none);
    copy_tile<3><<<dim3(3, 3, 3), 32, 256 + 1024>>>(a, b, make_int4(16, 4, 2, 1), 256);
    CUDA_CHECK_LAUNCH();
    CHECK(same(to));
  }
  {  // The rows of two heads lie side by side: (T, NH, HS) seen as (NH, T, HS).
    DeviceBuffer<__nv_bfloat16> to(40 * 55);
    const std::vector<uint64_t> extents = {20, 11, 2, 5}, strides = {40, 20, 440};
    REQUIRE_THROWS_AS(tensor_map(from.data(), extents, strides, {16, 4, 1, 5}), Error);
    const std::vector<uint64_t> eights = {8, 11, 5, 5}, of_eights = {40, 8, 440};
    const auto a = tensor_map(from.data(), eights, of_eights, {8, 4, 3, 5}, Swizzle::none);
    const auto b = tensor_map(to.data(), eights, of_eights, {8, 4, 3, 5}, Swizzle::none);
    copy_tile<4><<<dim3(1, 3, 2), 32, 960 + 1024>>>(a, b, make_int4(8, 4, 3, 1), 960);
    CUDA_CHECK_LAUNCH();
    CHECK(same(to));
  }
}

// Measured on an H200: a row of 5 floats is stored as 8, where the next row is further away.
TEST_CASE("TMA: a store ends at a multiple of 16 bytes", "[hopper]") {
  need_sm_90a();
  const DeviceBuffer<float> from(whole_numbers<float>(8 * 3, 3));
  DeviceBuffer<float> to(std::vector<float>(12 * 3, -1.0f));
  const auto a = tensor_map(from.data(), {8, 3}, {8}, {8, 4}, Swizzle::none);
  const auto b = tensor_map(to.data(), {5, 3}, {12}, {8, 4}, Swizzle::none);
  copy_tile<2><<<1, 32, 8 * 4 * 4 + 1024>>>(a, b, make_int4(8, 4, 1, 1), 8 * 4 * 4);
  CUDA_CHECK_LAUNCH();
  const std::vector<float> got = to.to_host(), all = from.to_host();
  for (size_t row = 0; row < 3; ++row)
    for (size_t col = 0; col < 12; ++col)
      CHECK(got[row * 12 + col] == (col < 8 ? all[row * 8 + col] : -1.0f));
}

TEST_CASE("TMA: a ring of stages", "[hopper]") {
  need_sm_90a();
  for (const int rounds : {1, 2, 3, 10}) {
    std::vector<float> numbers(64 * static_cast<size_t>(rounds));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    const DeviceBuffer<float> in(numbers);
    const auto got = run_kernel<float>(64 * rounds, [&](float* out) {
      const uint64_t rows = static_cast<uint64_t>(rounds);
      const auto from = tensor_map(in.data(), {64, rows}, {64}, {64, 1}, Swizzle::none);
      const auto to = tensor_map(out, {64, rows}, {64}, {64, 1}, Swizzle::none);
      doubles<<<1, 96>>>(from, to, rounds);
    });
    for (float& number : numbers) number *= 2;
    CHECK(got == numbers);
  }
}

TEST_CASE("tensor maps that the driver refuses", "[hopper]") {
  need_sm_90a();
  const DeviceBuffer<float> array(64 * 64);
  const float* const x = array.data();
  const auto reason = [&](const float* start, std::vector<uint64_t> extents,
                          std::vector<uint64_t> strides, std::vector<uint32_t> box,
                          Swizzle swizzle) {
    INFO("extents " << extents.front() << " box " << box.front() << " swizzle "
                    << static_cast<int>(swizzle));
    // What the sentence says is what the driver does.
    CUtensorMap map{};
    for (uint64_t& stride : strides) stride *= sizeof(float);
    const uint32_t ones[] = {1, 1, 1, 1, 1};
    const CUtensorMapSwizzle names[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B};
    const CUresult result = tensor_map_encoder()(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, static_cast<uint32_t>(extents.size()),
        const_cast<float*>(start), extents.data(), strides.data(), box.data(), ones,
        CU_TENSOR_MAP_INTERLEAVE_NONE, names[static_cast<int>(swizzle)],
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    for (uint64_t& stride : strides) stride /= sizeof(float);
    const std::string why = why_no_tensor_map(start, sizeof(float), extents, strides, box, swizzle);
    CHECK((result == CUDA_SUCCESS) == why.empty());
    return why;
  };
  using S = Swizzle;
  CHECK(reason(x, {64, 64}, {64}, {32, 64}, S::bytes_128).empty());
  CHECK(reason(x, {64, 64}, {64}, {64, 64}, S::none).empty());
  CHECK(reason(x, {3, 5}, {64}, {4, 64}, S::none).empty());
  CHECK(!reason(x + 1, {64, 64}, {64}, {32, 64}, S::none).empty());
  CHECK(!reason(x, {63, 64}, {63}, {32, 64}, S::none).empty());
  CHECK(!reason(x, {64, 64}, {64}, {33, 64}, S::none).empty());
  CHECK(!reason(x, {64, 64}, {64}, {64, 64}, S::bytes_128).empty());
  CHECK(!reason(x, {64, 64}, {64}, {32, 257}, S::none).empty());
  CHECK(!reason(x, {64, 64}, {64}, {0, 64}, S::none).empty());
  CHECK(!reason(x, {0, 64}, {64}, {32, 64}, S::none).empty());
}
