// Step 3 = step 2 without the permutes: cuBLAS reads q, k and v where they lie in qkv, and writes
// into out.
//
// A head's matrix in qkv has its rows 3·C apart, in out C apart: that is what a leading dimension
// is for. But from one head to the next it is HS, and from one sequence to the next T·3·C, and a
// strided batch has one stride. So a small kernel writes down where each head's matrices begin, and
// cuBLAS takes the list.
//
// FLOP            none in this kernel
// global memory   48 bytes a head
// asked for       loads 0 bytes, stores 48·B·NH bytes: 6 pointers a head
// shared memory   none
// block           block_size threads, the matrices of one head each
// H200            1.05 ms for B 8, T 1024, C 768, NH 12
//
// Gone are the 32·B·T·C bytes of stages 1 and 6, and q, k, v and vaccum.
#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::unfused_attention {
namespace {

// (b, nh) of a head, and from there the places in qkv[b][0][which][nh][0] and out[b][0][nh][0].
__global__ void locate_kernel(HeadPointers to, const float* qkv, float* scores, float* weights,
                              float* out, int64_t heads, int64_t T, int64_t C, int64_t NH) {
  const int64_t head = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (head >= heads) return;
  const int64_t b = head / NH, channel = head % NH * (C / NH);

  float* const token = const_cast<float*>(qkv) + b * T * 3 * C + channel;
  to.q[head] = token;
  to.k[head] = token + C;
  to.v[head] = token + 2 * C;
  to.out[head] = out + b * T * C + channel;
  to.scores[head] = scores + head * T * T;
  to.weights[head] = weights + head * T * T;
}

}  // namespace

HeadPointers locate(const Attention& a, const float* qkv, StageWorkspace& w, float* scores,
                    float* weights, float* out) {
  const int64_t n = a.heads();
  const HeadPointers to = six_arrays(w.pointers.data(), n);
  locate_kernel<<<ceil_div(n, a.block_size), a.block_size>>>(to, qkv, scores, weights, out, n, a.T,
                                                             a.C, a.NH);
  CUDA_CHECK_LAUNCH();
  return to;
}

void strided_scores(const Attention& a, const CublasHandle& blas, const HeadPointers& at,
                    const Strip& strip, float factor) {
  // (queries, HS)·(keys, HS)ᵀ: the rows of q and k are 3·C apart.
  row_major_gemm_pointers(blas, a.heads(), strip.queries, strip.keys, a.HS(), factor, at.q, 3 * a.C,
                          at.k, 3 * a.C, 0.0f, at.scores, strip.keys, Transpose::b);
}

void strided_values(const Attention& a, const CublasHandle& blas, const HeadPointers& at,
                    const Strip& strip) {
  // (queries, keys)·(keys, HS): the rows of out are C apart.
  row_major_gemm_pointers(blas, a.heads(), strip.queries, a.HS(), strip.keys, 1.0f, at.weights,
                          strip.keys, at.v, 3 * a.C, 0.0f, at.out, a.C);
}

void strided(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  require_strides(a);
  if (a.elements() == 0) return;
  const HeadPointers at = locate(a, qkv, w, w.preatt.data(), w.att.data(), out);
  strided_scores(a, w.blas, at, whole(a), 1.0f);
  scale_mask_softmax(a, w.preatt.data(), w.att.data());
  strided_values(a, w.blas, at, whole(a));
}

}  // namespace tutorial::unfused_attention
