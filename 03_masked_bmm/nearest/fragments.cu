// Before the products of step 9: A and B are scaled, rounded to fp16 and laid out as fragments, so
// that a lane reads what it needs for an mma with one instruction.
//
// asked for  loads 4·(M + N)·D + 1024·⌈D/16⌉·(⌈M/128⌉ + 2·⌈N/256⌉) bytes,
//            stores 32·⌈D/16⌉·(128·⌈M/128⌉ + 256·⌈N/256⌉) bytes
// block      256 threads; a warp has a fragment of A, or two of B: 16 rows, 16 columns
#include <cuda_fp16.h>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "nearest/exact.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr int WARPS_A_BLOCK = 8;

struct Matrix {
  const float* from;      // (rows, D)
  uint4* to;              // (⌈rows/width⌉, pieces, width/16, 32)
  const unsigned* about;  // the longest row
  int64_t rows, width;
  int64_t padded() const { return ceil_div(rows, width) * width; }
};

__global__ void __launch_bounds__(32 * WARPS_A_BLOCK)
    fragments_kernel(Matrix A, Matrix B, int64_t D, int64_t pieces, int64_t blocks_of_a) {
  const bool is_a = blockIdx.x < blocks_of_a;
  const Matrix m = is_a ? A : B;
  const int64_t number =
      (is_a ? blockIdx.x : blockIdx.x - blocks_of_a) * WARPS_A_BLOCK + threadIdx.x / 32;
  const int lane = threadIdx.x % 32, of_width = static_cast<int>(m.width / 16);
  const int64_t piece = number / of_width % pieces;
  const int64_t row0 = number / of_width / pieces * m.width + number % of_width * 16;
  const float scale = ldexpf(1.0f, scaling_of(__uint_as_float(m.about[0])));
  // Register r of A: 8 rows further down where r is odd, 8 columns further right from 2 on. B's
  // fragment is 8 points wide, so there it is the other way round.
  uint32_t of[4];
  for (int r = 0; r < 4; ++r) {
    const int64_t row = row0 + lane / 4 + (is_a ? r % 2 : r / 2) * 8;
    const int64_t d = piece * 16 + lane % 4 * 2 + (is_a ? r / 2 : r % 2) * 8;
    const auto element = [&](int64_t d) {
      return row < m.rows && d < D ? scale * m.from[row * D + d] : 0.0f;
    };
    const __half2 pair = __floats2half2_rn(element(d), element(d + 1));
    of[r] = static_cast<uint32_t>(__half_as_ushort(pair.y)) << 16 | __half_as_ushort(pair.x);
  }
  m.to[number * 32 + lane] = make_uint4(of[0], of[1], of[2], of[3]);
}

}  // namespace

Packed pack_fragments(const Search& s, const float* A, const float* B, const Scratch& scratch,
                      cudaStream_t stream) {
  const Cut cut = cut_of_fragments(s);
  const Matrix a = {A, scratch.fragments, scratch.about_queries, s.M, STRIP};
  const Matrix b = {B, a.to + a.padded() * 2 * cut.pieces, scratch.about_points, s.N, TILE};
  const auto blocks_of = [&](const Matrix& m) {
    return m.padded() / 16 / WARPS_A_BLOCK * cut.pieces;
  };
  fragments_kernel<<<static_cast<unsigned>(blocks_of(a) + blocks_of(b)), 32 * WARPS_A_BLOCK, 0,
                     stream>>>(a, b, s.D, cut.pieces, blocks_of(a));
  CUDA_CHECK_LAUNCH();
  return {cut, reinterpret_cast<const float*>(a.to), reinterpret_cast<const float*>(b.to)};
}

}  // namespace tutorial::masked_bmm::nearest
