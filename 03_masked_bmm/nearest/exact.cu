// What the steps from 3 on do before and after the search: the norms of the points; a second look
// at the candidates, exactly; and from step 4 on at all points where the candidates prove nothing.
//
// FLOP   3·M·c·D in double for c candidates a row, 2·(M + N)·D for norms
// asked for by norms_kernel   loads 4·N·D bytes, stores 4·N bytes
// asked for by finish_kernel  loads 8·M·c·parts + near·M·(8·D·c + 4·D + 256) bytes,
//                             stores 8·M·k bytes; near is 1 for distances, 0 for products
// asked for by scan_kernel    loads 4096·scans + 8·doubtful·N·D bytes, stores 8·doubtful·k bytes,
//                             by `scans` blocks for `doubtful` rows
#include <algorithm>
#include <climits>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "nearest/exact.cuh"
#include "nearest/merge.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr int NO_POINT = INT_MAX - 1024;  // and up: numbers of what is not a point

/// The distance that nearest.hpp defines, by one thread.
__device__ double distance_of(const float* a, const float* b, int64_t D) {
  double sum = 0;
  for (int64_t d = 0; d < D; ++d) {
    const double apart = double{a[d]} - double{b[d]};
    sum = fma(apart, apart, sum);
  }
  return sum;
}

/// A distance and the point. NaN goes last. No two have the same number.
struct Found {
  double distance;
  int point;
};
__device__ bool comes_before(const Found& x, const Found& y) {
  if (isnan(x.distance) != isnan(y.distance)) return isnan(y.distance);
  if (x.distance < y.distance || x.distance > y.distance) return x.distance < y.distance;
  return x.point < y.point;
}
__device__ void write(const Found& found, float* out, float* value) {
  *out = isnan(found.distance) ? -1.0f : static_cast<float>(found.point);
  *value = static_cast<float>(found.distance);
}

/// A warp has a row of X, and its norm is `ordinary` or not. about: the largest norm's bits; is any
/// row not ordinary? Of queries nobody asks for norms.
__global__ void __launch_bounds__(WARP* WARPS)
    norms_kernel(const float* X, int64_t rows, int64_t D, double ordinary, float* norms,
                 unsigned* about) {
  const int64_t row = blockIdx.x * int64_t{WARPS} + threadIdx.x / WARP;
  if (row >= rows) return;
  const double norm = norm_of(X + row * D, D);
  if (threadIdx.x % WARP != 0) return;
  const auto rounded = static_cast<float>(norm);
  if (norms != nullptr) norms[row] = norm < ordinary ? rounded : NAN;
  if (norm < ordinary) atomicMax(&about[0], __float_as_uint(rounded));
  if (norm >= ordinary) atomicMax(&about[1], 1u);
}

struct Look {
  const float *A, *B;
  int64_t M, N, D, parts = 0;  // for finish_kernel: the lists of a row …
  int listed = 0, k;           // … and the keys of a list
  bool is_distance;
  const Key* lists;              // (M, parts, listed)
  const unsigned* about;         // the points
  unsigned long long* doubtful;  // how many rows, and which
  float *out, *values;           // (M, k)
};

/// No point that is not in the list of this row is as near as this (squared). A warp calls.
__device__ double all_others_beyond(const Look& p, const float* a, Key last_of_list) {
  const double norm = norm_of(a, p.D);
  if (!(norm < ORDINARY_QUERY)) return 0;  // nothing is known
  const bool some_are_not_ordinary = p.about[1] != 0;
  if (last_of_list == NOTHING)  // there is room: all that are ordinary are in the list
    return some_are_not_ordinary ? FAR : INFINITY;
  const double rounding = rounding_of(norm, __uint_as_float(p.about[0]), p.D);
  return fmin(norm + value_of(last_of_list) - rounding, FAR);
}

/// A warp has a row. Its lists become one; then the candidates' distances are sorted.
__global__ void __launch_bounds__(WARP* WARPS) finish_kernel(Look p) {
  extern __shared__ Key memory[];  // of each warp: a list, then as many distances
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const int64_t row = blockIdx.x * int64_t{WARPS} + warp;
  if (row >= p.M) return;
  Key* const list = memory + warp * 2 * p.listed;
  double* const distance = reinterpret_cast<double*>(list + p.listed);
  const Key* const lists = p.lists + row * p.parts * p.listed;
  for (int place = lane; place < p.listed; place += WARP) list[place] = lists[place];
  __syncwarp();
  for (int64_t more = p.listed; more < p.parts * p.listed; more += WARP)
    merge(list, p.listed, more + lane < p.parts * p.listed ? lists[more + lane] : NOTHING);

  float *const out = p.out + row * p.k, *const values = p.values + row * p.k;
  if (!p.is_distance) {
    for (int place = lane; place < p.k; place += WARP) {
      out[place] = static_cast<float>(index_of(list[place]));
      values[place] = value_of(list[place]);
    }
    return;
  }
  const float* const a = p.A + row * p.D;
  const auto found = [&](int place) {
    return Found{distance[place],
                 list[place] == NOTHING ? NO_POINT + place : index_of(list[place])};
  };
  for (int place = lane; place < p.listed; place += WARP) {
    const int64_t point = index_of(list[place]);
    distance[place] = point < 0 ? NAN : distance_of(a, p.B + point * p.D, p.D);
  }
  __syncwarp();
  const double beyond = all_others_beyond(p, a, list[p.listed - 1]);
  bool is_proven = false;
  for (int place = lane; place < p.listed; place += WARP) {
    int rank = 0;
    for (int other = 0; other < p.listed; ++other) rank += comes_before(found(other), found(place));
    if (rank < p.k) write(found(place), out + rank, values + rank);
    if (rank == p.k - 1) is_proven = beyond == INFINITY || distance[place] < beyond;
  }
  if (!__any_sync(0xffffffffu, is_proven) && lane == 0)
    p.doubtful[1 + atomicAdd(&p.doubtful[0], 1)] = row;
}

constexpr int SCAN_THREADS = 512;

/// distance_of for a packed point: threads side by side read side by side.
__device__ double distance_of_packed(const float* a, const Packed& packed, int64_t point,
                                     int64_t D) {
  const float* const b = packed.B + point / TILE * packed.pieces * (DEPTH * TILE) + point % TILE;
  double sum = 0;
#pragma unroll 8
  for (int64_t d = 0; d < D; ++d) {
    const double apart = double{a[d]} - double{b[d * TILE]};
    sum = fma(apart, apart, sum);
  }
  return sum;
}

/// A block has a row that is in doubt, then another one: a thread has a point at a time.
__global__ void __launch_bounds__(SCAN_THREADS) scan_kernel(Look p, Packed packed) {
  __shared__ Found best[MOST_NEIGHBOURS], fresh[SCAN_THREADS];
  __shared__ int fresh_count;
  const int me = threadIdx.x, k = p.k;
  for (unsigned long long r = blockIdx.x; r < p.doubtful[0]; r += gridDim.x) {
    const int64_t row = p.doubtful[1 + r];
    if (me < k) best[me] = {NAN, NO_POINT + me};
    if (me == 0) fresh_count = 0;
    __syncthreads();
    for (int64_t first = 0; first < p.N; first += SCAN_THREADS) {
      Found mine = {NAN, static_cast<int>(first) + me};
      if (mine.point < p.N)
        mine.distance = distance_of_packed(p.A + row * p.D, packed, mine.point, p.D);
      const bool is_better = comes_before(mine, best[k - 1]);
      if (is_better) fresh[atomicAdd(&fresh_count, 1)] = mine;
      if (!__syncthreads_or(is_better)) continue;
      // As in merge.cuh: a place is the number of those before.
      int place = 0, place_of_old = me;
      const Found old = best[min(me, k - 1)];
      for (int i = 0; is_better && i < k; ++i) place += comes_before(best[i], mine);
      for (int i = 0; i < fresh_count; ++i) {
        place += comes_before(fresh[i], mine);
        place_of_old += comes_before(fresh[i], old);
      }
      __syncthreads();
      if (is_better && place < k) best[place] = mine;
      if (me < k && place_of_old < k) best[place_of_old] = old;
      if (me == 0) fresh_count = 0;
      __syncthreads();
    }
    if (me < k) write(best[me], p.out + row * k + me, p.values + row * k + me);
    __syncthreads();
  }
}

Look look_of(const Search& s, const float* A, const float* B, float* out, float* values,
             const Scratch& scratch) {
  return {.A = A,
          .B = B,
          .M = s.M,
          .N = s.N,
          .D = s.D,
          .k = static_cast<int>(s.k),
          .is_distance = s.measure == Measure::distance,
          .lists = scratch.keys,
          .about = scratch.about_points,
          .doubtful = scratch.doubtful,
          .out = out,
          .values = values};
}

}  // namespace

static void measure(const float* X, int64_t rows, int64_t D, double ordinary, float* norms,
                    unsigned* about, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(about, 0, 2 * sizeof(unsigned), stream));
  norms_kernel<<<static_cast<unsigned>(ceil_div(rows, WARPS)), WARP * WARPS, 0, stream>>>(
      X, rows, D, ordinary, norms, about);
  CUDA_CHECK_LAUNCH();
}

void measure_points(const Search& s, const float* B, const Scratch& scratch, cudaStream_t stream) {
  measure(B, s.N, s.D, ORDINARY_POINT, scratch.norms, scratch.about_points, stream);
}

void measure_queries(const Search& s, const float* A, const Scratch& scratch, cudaStream_t stream) {
  measure(A, s.M, s.D, ORDINARY_QUERY, nullptr, scratch.about_queries, stream);
}

void finish(const Search& s, const float* A, const float* B, int64_t parts, int64_t listed,
            float* out, float* values, const Scratch& scratch, cudaStream_t stream) {
  Look look = look_of(s, A, B, out, values, scratch);
  look.parts = parts, look.listed = static_cast<int>(listed);
  CUDA_CHECK(cudaMemsetAsync(look.doubtful, 0, sizeof *look.doubtful, stream));
  const int64_t blocks = ceil_div(s.M, WARPS);
  finish_kernel<<<static_cast<unsigned>(blocks), WARP * WARPS, WARPS * 2 * listed * sizeof(Key),
                  stream>>>(look);
  CUDA_CHECK_LAUNCH();
}

void scan_doubtful(const Search& s, const Packed& packed, const float* A, const float* B,
                   float* out, float* values, const Scratch& scratch, cudaStream_t stream) {
  // Few rows are in doubt, as a rule.
  const int64_t scans = std::min({ceil_div(s.M, 16), int64_t{multiprocessors()}, grid_limit.x});
  scan_kernel<<<static_cast<unsigned>(scans), SCAN_THREADS, 0, stream>>>(
      look_of(s, A, B, out, values, scratch), packed);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm::nearest
