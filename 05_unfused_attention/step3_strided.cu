// Step 8 = step 7's pipeline without the permutes: cuBLAS reads q, k and v where they lie in qkv,
// and writes into out.
//
// A head's matrix in qkv has its rows 3·C apart, in out C apart: that is what a leading dimension
// is for. But from one head to the next it is HS, and from one sequence to the next T·3·C, and a
// strided batch has one stride. So a small kernel writes down where each head's matrices begin, and
// cuBLAS takes the list.
//
// FLOP            none in this kernel
// global memory   48 bytes a head
// asked for       loads 0 bytes, stores 48·B·NH·strips bytes: 6 pointers a head
// shared memory   none
// block           block_size threads, the matrices of one head and strip each
//
// Gone are the 32·B·T·C bytes of steps 1 and 6, and q, k, v and vaccum.
#include <limits>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/data/error.hpp"
#include "common/kernel/grid.hpp"

namespace unfused {

using namespace tutorial;

// (b, nh) of a head, and from there the places in qkv[b][t][which][nh][hs] and out[b][t][nh][hs].
static __global__ void locate_kernel(Addresses to, const float* qkv, float* scores, float* weights,
                                     float* out, Cut cut, int64_t count, int64_t heads, int64_t T,
                                     int64_t C, int64_t NH, bool causal) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t strip = i / heads, head = i % heads;
  const int64_t b = head / NH, channel = head % NH * (C / NH);
  const int64_t query = strip * cut.strip;
  const int64_t end = query + cut.strip < T ? query + cut.strip : T;

  float* const token = const_cast<float*>(qkv) + b * T * 3 * C + channel;
  to.q[i] = token + query * 3 * C;
  to.k[i] = token + C;
  to.v[i] = token + 2 * C;
  to.out[i] = out + (b * T + query) * C + channel;

  // Pieces that are not under way at the same time share the memory of their scores.
  const int64_t keys = causal ? end : T;
  const int64_t place = lane_of(strip, cut.lanes) * cut.group * cut.strip * T +
                        head % cut.group * (end - query) * keys;
  to.scores[i] = scores + place;
  to.weights[i] = weights + place;
}

Addresses locate(const Attention& a, const Cut& cut, const float* qkv, Workspace& w, float* scores,
                 float* weights, float* out) {
  if (3 * a.C > std::numeric_limits<int>::max())
    throw Error(
        "cuBLAS counts in int, so 3 times --channels ends at 2147483647 in this step: choose fewer "
        "channels.");
  const int64_t count = a.heads() * ceil_div(a.T, cut.strip);
  float** const at = w.addresses.data();
  const Addresses to = {
      at, at + count, at + 2 * count, at + 3 * count, at + 4 * count, at + 5 * count};
  locate_kernel<<<ceil_div(count, a.block_size), a.block_size>>>(
      to, qkv, scores, weights, out, cut, count, a.heads(), a.T, a.C, a.NH, a.causal);
  CUDA_CHECK_LAUNCH();
  return to;
}

void piece_scores(const Attention& a, const CublasHandle& blas, const Addresses& at,
                  const Piece& piece, float factor) {
  const int64_t first = piece.strip * a.heads() + piece.first_head;
  row_major_gemm_pointers(blas, piece.heads, piece.queries, piece.keys, a.HS(), factor,
                          at.q + first, 3 * a.C, at.k + first, 3 * a.C, 0.0f, at.scores + first,
                          piece.keys, Transpose::b);
}

void piece_values(const Attention& a, const CublasHandle& blas, const Addresses& at,
                  const Piece& piece) {
  const int64_t first = piece.strip * a.heads() + piece.first_head;
  row_major_gemm_pointers(blas, piece.heads, piece.queries, a.HS(), piece.keys, 1.0f,
                          at.weights + first, piece.keys, at.v + first, 3 * a.C, 0.0f,
                          at.out + first, a.C);
}

void strided(const Attention& a, const float* qkv, Workspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, WHOLE);
  const Addresses at = locate(a, cut, qkv, w, w.preatt.data(), w.att.data(), out);
  const Piece whole = pieces(a, cut)[0];
  piece_scores(a, w.blas, at, whole, 1.0f);
  scale_mask_softmax(a, w.preatt.data(), w.att.data());
  piece_values(a, w.blas, at, whole);
}

}  // namespace unfused
