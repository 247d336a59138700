// What steps 8 and 9 do between their two products and after them: each row's limit, and the
// choice among what is within it.
//
// FLOP   3·M·c·D in double for c candidates a row, 2·M·D for norms
// asked for by limits_kernel  loads 512·M·⌈N/256⌉ + 4·M·D + 4·M·(1 + halves) bytes,
//                             stores 512·⌈M/128⌉ bytes; halves is 1 in step 9, else 0
// asked for by choose_kernel  loads 256·M + (4·D + 8)·kept + 4·D·rounds bytes, stores 8·M·k bytes,
//                             where a row is proven: `kept` candidates in all, 32 a round
#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "nearest/exact.cuh"
#include "nearest/key.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

struct Limits {
  const float* A;          // (M, D)
  const unsigned* minima;  // (M, groups)
  int64_t M, D, groups;
  int k;
  const unsigned *about_points, *about_queries;  // these, if the product is of fp16
  float* limits;                                 // (strips, STRIP)
};

/// The k-th smallest of a row's minima, and what rounding may do: a warp has a row. -∞ behind the
/// last row, and NaN, below which nothing is, where too little is known of a query.
///
/// k groups have a minimum of at most x. So k points are, by what was computed, at x or below, and
/// really at x + E or below. What was computed to be beyond x + 2·E is really beyond x + E, and
/// behind these k.
__global__ void __launch_bounds__(WARP* WARPS) limits_kernel(Limits p) {
  const int lane = threadIdx.x % WARP;
  const int64_t row = blockIdx.x * int64_t{WARPS} + threadIdx.x / WARP;
  if (row >= p.M) {
    if (lane == 0) p.limits[row] = -INFINITY;
    return;
  }
  // Bit by bit: the largest number that fewer than k of the minima's bits are below.
  const unsigned* const minima = p.minima + row * p.groups;
  unsigned kth = 0;
  for (unsigned bit = 1u << 31; bit != 0; bit /= 2) {
    int below = 0;
#pragma unroll 8
    for (int64_t group = lane; group < p.groups; group += WARP)
      below += minima[group] < (kth | bit);
    for (int offset = 16; offset > 0; offset /= 2)
      below += __shfl_xor_sync(0xffffffffu, below, offset);
    if (below < p.k) kth |= bit;
  }
  const double norm = norm_of(p.A + row * p.D, p.D);
  if (lane > 0) return;
  const float points = __uint_as_float(p.about_points[0]);
  const double rounding =
      p.about_queries == nullptr
          ? rounding_of(norm, points, p.D)
          : rounding_of_halves(norm, points, __uint_as_float(p.about_queries[0]), p.D);
  p.limits[row] =
      norm < ORDINARY_QUERY ? __double2float_ru(value_of(Key{kth} << 32) + 2 * rounding) : NAN;
}

constexpr int CHOOSING = 4;  // warps of a block

/// Of a warp: 32 columns of its query and of 32 candidates, whose columns lie in different banks.
struct Part {
  double a[WARP];
  float b[WARP][WARP + 1];
};

struct Choice {
  const float *A, *B;
  int64_t M, D;
  int k;
  Candidates found;
  const unsigned* about;         // the points
  unsigned long long* doubtful;  // how many rows, and which
  float *out, *values;           // (M, k)
};

/// A warp has a row: its candidates' distances are computed exactly, and sorted.
__global__ void __launch_bounds__(WARP* CHOOSING, 8) choose_kernel(Choice p) {
  extern __shared__ Part parts[];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, room = p.found.room;
  const int64_t row = blockIdx.x * int64_t{CHOOSING} + warp;
  if (row >= p.M) return;
  // The distances, as bits: no distance is negative, so these count up with it.
  auto* const distance = reinterpret_cast<unsigned long long*>(parts + CHOOSING) + warp * room;
  Part& part = parts[warp];
  const float* const a = p.A + row * p.D;
  const int* const points = p.found.points + row * room;

  const int count = p.found.count[row];
  const bool are_known = count <= room;  // all that were counted are there
  for (int first = 0; are_known && first < count; first += WARP) {
    const int mine = first + lane, these = min(count - first, WARP);
    const int point = mine < count ? points[mine] : 0;
    double sum = 0;  // of the lane's candidate, as nearest.hpp defines it
    for (int64_t d0 = 0; d0 < p.D; d0 += WARP) {
      const int cols = static_cast<int>(min(p.D - d0, int64_t{WARP}));
      if (lane < cols) part.a[lane] = a[d0 + lane];
#pragma unroll 8
      for (int i = 0; i < these; ++i) {  // lanes side by side read side by side
        const int64_t other = __shfl_sync(0xffffffffu, point, i);
        if (lane < cols) part.b[i][lane] = p.B[other * p.D + d0 + lane];
      }
      __syncwarp();
#pragma unroll 8
      for (int d = 0; mine < count && d < cols; ++d) {
        const double apart = part.a[d] - double{part.b[lane][d]};
        sum = fma(apart, apart, sum);
      }
      __syncwarp();  // all have read
    }
    if (mine < count) distance[mine] = __double_as_longlong(sum);
  }
  __syncwarp();
  // A point that is not ordinary is no candidate. It lies further than FAR.
  const double beyond = p.about[1] != 0 ? FAR : INFINITY;
  bool is_proven = false;
  for (int mine = lane; are_known && mine < count; mine += WARP) {
    const unsigned long long key = distance[mine];
    const int point = points[mine];
    int before = 0, equal = 0;
#pragma unroll 4
    for (int other = 0; other < count; ++other)
      before += distance[other] < key, equal += distance[other] == key;
    for (int other = 0; equal > 1 && other < count; ++other)  // seldom
      before += distance[other] == key && points[other] < point;
    const double mine_is = __longlong_as_double(key);
    if (before == p.k - 1) is_proven = mine_is < beyond;
    if (before >= p.k) continue;
    p.out[row * p.k + before] = static_cast<float>(point);
    p.values[row * p.k + before] = static_cast<float>(mine_is);
  }
  if (!__any_sync(0xffffffffu, is_proven) && lane == 0)
    p.doubtful[1 + atomicAdd(&p.doubtful[0], 1)] = row;
}

}  // namespace

void launch_in_parts(Launcher* step, const Search& s, const float* A, const float* B, float* out,
                     float* values, Workspace workspace, cudaStream_t stream) {
  Search part = s;
  for (int64_t first = 0; first < s.M; first += part.M) {
    part.M = std::min(s.M - first, rows_at_once(s));
    step(part, A + first * s.D, B, out + first * s.k, values + first * s.k, workspace, stream);
  }
}

void find_limits(const Search& s, const float* A, const Scratch& scratch, cudaStream_t stream,
                 bool of_halves) {
  const Cut cut = cut_of(s);
  CUDA_CHECK(
      cudaMemsetAsync(scratch.candidates.count, 0, s.M * sizeof *scratch.candidates.count, stream));
  limits_kernel<<<static_cast<unsigned>(cut.strips * STRIP / WARPS), WARP * WARPS, 0, stream>>>(
      {.A = A,
       .minima = scratch.minima,
       .M = s.M,
       .D = s.D,
       .groups = cut.groups(),
       .k = static_cast<int>(s.k),
       .about_points = scratch.about_points,
       .about_queries = of_halves ? scratch.about_queries : nullptr,
       .limits = scratch.limits});
  CUDA_CHECK_LAUNCH();
}

void choose(const Search& s, const float* A, const float* B, float* out, float* values,
            const Scratch& scratch, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(scratch.doubtful, 0, sizeof *scratch.doubtful, stream));
  const size_t shared_bytes = CHOOSING * (sizeof(Part) + scratch.candidates.room * sizeof(double));
  choose_kernel<<<static_cast<unsigned>(ceil_div(s.M, CHOOSING)), WARP * CHOOSING, shared_bytes,
                  stream>>>({.A = A,
                             .B = B,
                             .M = s.M,
                             .D = s.D,
                             .k = static_cast<int>(s.k),
                             .found = scratch.candidates,
                             .about = scratch.about_points,
                             .doubtful = scratch.doubtful,
                             .out = out,
                             .values = values});
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm::nearest
