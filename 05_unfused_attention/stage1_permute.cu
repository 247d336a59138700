// Stage 1: packed qkv (B, T, 3, NH, HS) → q, k, v (B, NH, T, HS): the T×HS matrices of a head
// become contiguous, as the batched products of stages 2 and 5 want them.
//
// FLOP            none
// global memory   24·B·T·C bytes: qkv once, q, k and v once. Writes are in order. Reads are in
//                 order over the HS elements of a head, then jump by 3·C.
// asked for       loads 12·B·T·C bytes, stores 12·B·T·C bytes
// shared memory   none
// block           block_size threads, one element of q, of k and of v each
#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::unfused_attention {
namespace {

__global__ void permute_kernel(const float* __restrict__ qkv, float* __restrict__ q,
                               float* __restrict__ k, float* __restrict__ v, int64_t count,
                               int64_t T, int64_t NH, int64_t HS) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;

  // i is the place in q[b][nh][t][hs]: take the coordinates off, the fastest first.
  const int64_t hs = i % HS;
  const int64_t t = i / HS % T;
  const int64_t nh = i / HS / T % NH;
  const int64_t b = i / HS / T / NH;

  // The same coordinates in qkv[b][t][0][nh][hs]; k and v follow at distances of C.
  const int64_t C = NH * HS;
  const int64_t from = ((b * T + t) * 3 * NH + nh) * HS + hs;
  q[i] = qkv[from];
  k[i] = qkv[from + C];
  v[i] = qkv[from + 2 * C];
}

}  // namespace

void permute(const Attention& a, const float* qkv, float* q, float* k, float* v) {
  if (a.elements() == 0) return;
  permute_kernel<<<ceil_div(a.elements(), a.block_size), a.block_size>>>(qkv, q, k, v, a.elements(),
                                                                         a.T, a.NH, a.HS());
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::unfused_attention
