// Stage 6: vaccum (B, NH, T, HS) → out (B, T, C): stage 1 backwards, for one tensor.
//
// FLOP            none
// global memory   8·B·T·C bytes. Reads are in order. Writes are in order over the HS elements of a
//                 head.
// asked for       loads 4·B·T·C bytes, stores 4·B·T·C bytes
// shared memory   none
// block           block_size threads, one element each
#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::unfused_attention {
namespace {

__global__ void unpermute_kernel(const float* __restrict__ vaccum, float* __restrict__ out,
                                 int64_t count, int64_t T, int64_t NH, int64_t HS) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;

  // i is the place in vaccum[b][nh][t][hs].
  const int64_t hs = i % HS;
  const int64_t t = i / HS % T;
  const int64_t nh = i / HS / T % NH;
  const int64_t b = i / HS / T / NH;

  out[((b * T + t) * NH + nh) * HS + hs] = vaccum[i];
}

}  // namespace

void unpermute(const Attention& a, const float* vaccum, float* out) {
  if (a.elements() == 0) return;
  unpermute_kernel<<<ceil_div(a.elements(), a.block_size), a.block_size>>>(
      vaccum, out, a.elements(), a.T, a.NH, a.HS());
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::unfused_attention
