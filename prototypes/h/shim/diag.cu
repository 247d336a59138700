#include <cstdio>
#include "common/kernel/tma.cuh"
using namespace tutorial;
__global__ void k(const __grid_constant__ CUtensorMap map, int x, int y, int bytes, int how, float* out) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ Barrier full;
  if (threadIdx.x == 0) { barrier_init(full, 1); barrier_init_fence();
    if (how & 1) prefetch_map(map);
    if (how & 2) tma_prefetch(map, {x, y}); }
  __syncthreads();
  if (threadIdx.x == 0) { barrier_arrive_expect(full, bytes); tma_load(tile, map, full, {x, y}); }
  barrier_wait(full, 0);
  if (threadIdx.x == 0) out[0] = *(float*)tile;
}
int main(int c, char** v) {
  int how = atoi(v[1]), s = atoi(v[2]), x = atoi(v[3]), y = atoi(v[4]);
  float *a, *o; cudaMalloc(&a, 52 * 37 * 4); cudaMalloc(&o, 4);
  int width = bytes_of((Swizzle)s) / 4 * (s == 0 ? 3 : 1);
  auto map = tensor_map(a, {52, 37}, {52}, {(uint32_t)width, 16}, (Swizzle)s);
  k<<<1, 64, 8192>>>(map, x, y, width * 64, how, o);
  printf("how %d swizzle %d at %d %d: %s\n", how, s, x, y, cudaGetErrorString(cudaDeviceSynchronize()));
  if (c > 5) {
    auto t = [&](const char* n, float* st, std::vector<uint64_t> e, std::vector<uint64_t> sb, std::vector<uint32_t> b, CUtensorMapSwizzle w) {
      CUtensorMap m; const uint32_t ones[] = {1,1,1,1,1};
      int r = tensor_map_encoder()(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, e.size(), st, e.data(), sb.data(), b.data(), ones, CU_TENSOR_MAP_INTERLEAVE_NONE, w, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      printf("%s: %d\n", n, r); };
    auto S = CU_TENSOR_MAP_SWIZZLE_128B, N = CU_TENSOR_MAP_SWIZZLE_NONE;
    cudaMalloc(&a, 65536);
    t("plain", a, {64, 64}, {256}, {32, 64}, S); t("none", a, {64, 64}, {256}, {64, 64}, N); t("3x5", a, {3, 5}, {256}, {4, 64}, N);
    t("1d null", a, {64}, {}, {64}, N); t("1d", a, {64}, {0, 0}, {64}, N); t("base+4", a + 1, {64, 64}, {256}, {32, 64}, N);
    t("stride 252", a, {63, 64}, {252}, {32, 64}, N); t("row 132", a, {64, 64}, {256}, {33, 64}, N); t("row 256 in 128", a, {64, 64}, {256}, {64, 64}, S);
    t("box 257", a, {64, 64}, {256}, {32, 257}, N); t("box 0", a, {64, 64}, {256}, {0, 64}, N); t("extent 0", a, {0, 64}, {256}, {32, 64}, N);
    t("extent 2^32", a, {64, 1ull << 32}, {256}, {32, 64}, N); t("extent 2^32+1", a, {64, (1ull << 32) + 1}, {256}, {32, 64}, N);
    t("stride 0", a, {64, 64}, {0}, {32, 64}, N); t("stride 2^40", a, {64, 2}, {1ull << 40}, {32, 2}, N); t("stride 2^40-16", a, {64, 2}, {(1ull << 40) - 16}, {32, 2}, N);
    t("stride less than row", a, {64, 64}, {16}, {32, 64}, N); t("row 16 in 128", a, {64, 64}, {256}, {4, 64}, S); t("box 256x256", a, {256, 256}, {1024}, {256, 256}, N); t("box 230K", a, {256, 256}, {1024}, {256, 230}, N);
  }
}
