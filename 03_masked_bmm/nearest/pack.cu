// Before the product of every step: A and B are packed, so that the copies of a piece are as simple
// as can be. They need no test for an edge, and any D and any address will do.
//
// asked for  loads 4·(M + N)·D bytes, stores 32·⌈D/8⌉·(128·⌈M/128⌉ + 256·⌈N/256⌉) bytes
// block      256 threads for DEPTH columns of 32 rows of A or B; they go through shared memory,
//            because they lie side by side before, and below each other after
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr int ROWS = 32;  // and STRIP and TILE are multiples

struct Matrix {
  const float* from;  // (rows, D)
  float* to;          // (⌈rows/width⌉, pieces, DEPTH, width)
  int64_t rows, width;
  int64_t padded() const { return ceil_div(rows, width) * width; }
};

__global__ void __launch_bounds__(ROWS* DEPTH)
    pack_kernel(Matrix A, Matrix B, int64_t D, int64_t pieces, int64_t blocks_of_a) {
  __shared__ float part[DEPTH][ROWS + 1];  // threads of a warp write to different banks
  const bool is_a = blockIdx.x < blocks_of_a;
  const Matrix m = is_a ? A : B;
  const int64_t number = is_a ? blockIdx.x : blockIdx.x - blocks_of_a;
  const int64_t row0 = number / pieces * ROWS, piece = number % pieces;
  {
    const int64_t row = row0 + threadIdx.x / DEPTH, d = piece * DEPTH + threadIdx.x % DEPTH;
    part[threadIdx.x % DEPTH][threadIdx.x / DEPTH] =
        row < m.rows && d < D ? m.from[row * D + d] : 0.0f;
  }
  __syncthreads();
  const int k = threadIdx.x / ROWS, row = threadIdx.x % ROWS;
  float* const to = m.to + (row0 / m.width * pieces + piece) * DEPTH * m.width;
  to[k * m.width + row0 % m.width + row] = part[k][row];
}

}  // namespace

Packed pack(const Search& s, const float* A, const float* B, const Scratch& scratch,
            cudaStream_t stream) {
  const Cut cut = cut_of(s);
  Matrix a = {A, scratch.packed, s.M, STRIP};
  Matrix b = {B, a.to + a.padded() * cut.pieces * DEPTH, s.N, TILE};
  const int64_t of_a = a.padded() / ROWS * cut.pieces, of_b = b.padded() / ROWS * cut.pieces;
  pack_kernel<<<static_cast<unsigned>(of_a + of_b), ROWS * DEPTH, 0, stream>>>(a, b, s.D,
                                                                               cut.pieces, of_a);
  CUDA_CHECK_LAUNCH();
  return {cut, a.to, b.to};
}

}  // namespace tutorial::masked_bmm::nearest
