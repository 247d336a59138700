// What the steps ask global memory for.
#include <algorithm>

#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

Asked pack_asks(const Search& s) {
  const auto& [M, N, D, k, measure] = s;
  return {.kernel = "pack_kernel",
          .loads = 4 * (M + N) * D,
          .stores = 32 * ceil_div(D, 8) * (128 * ceil_div(M, 128) + 256 * ceil_div(N, 256))};
}

/// What stands before and after the search from step 3 on, with `parts` lists of c keys a row.
std::vector<Asked> exact_asks(const Search& s, int64_t parts, int64_t c) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t near = measure == Measure::distance ? 1 : 0;
  const int64_t scans = std::min({ceil_div(M, 16), int64_t{multiprocessors()}, grid_limit.x});
  const int64_t doubtful = M;  // at most: how many, the numbers decide
  return {{.kernel = "norms_kernel", .loads = 4 * N * D, .stores = 4 * N},
          {.kernel = "finish_kernel",
           .loads = 8 * M * c * parts + near * M * (8 * D * c + 4 * D + 256),
           .stores = 8 * M * k},
          {.kernel = "scan_kernel",
           .loads = 4096 * scans + 8 * doubtful * N * D,
           .stores = 8 * doubtful * k}};
}

/// Step 8's, and with halves = 1 what step 9 asks for around its products.
std::vector<Asked> candidates_ask(const Search& s, int64_t halves) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t kept = M * room_of(s);  // at most: how many, the numbers decide
  const int64_t rounds = M * ceil_div(room_of(s), 32);
  std::vector<Asked> asked = exact_asks(s, /*parts=*/1, /*c=*/1);
  asked[0].loads += 4 * halves * M * D;  // norms of queries, too
  Search packed = s;
  if (halves == 1) packed.M = 0;  // the points alone
  asked.push_back(pack_asks(packed));
  asked.push_back({.kernel = "limits_kernel",
                   .loads = 512 * M * ceil_div(N, 256) + 4 * M * D + 4 * M * (1 + halves),
                   .stores = 512 * ceil_div(M, 128)});
  asked.push_back({.kernel = "choose_kernel",
                   .loads = 256 * M + (4 * D + 8) * kept + 4 * D * rounds,
                   .stores = 8 * M * k});
  return asked;
}

}  // namespace

std::vector<Asked> minima_ask(const Search& s, const float*, const float*, float*, float*,
                              Workspace, cudaStream_t) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks;
  return {
      pack_asks(s),
      {.kernel = "product_kernel",
       .loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks),
       .stores = 16 * M * ceil_div(N, 4)},
      {.kernel = "minimum_kernel", .loads = 16 * M * ceil_div(N, 4), .stores = 8 * M},
      {.kernel = "fused_minimum_kernel",
       .loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks),
       .stores = 0},
      {.kernel = "unpack_kernel", .loads = 8 * M, .stores = 8 * M},
  };
}

std::vector<Asked> distances_ask(const Search& s, const float*, const float*, float*, float*,
                                 Workspace, cudaStream_t) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks;
  std::vector<Asked> asked = exact_asks(s, /*parts=*/1, /*c=*/1);
  asked[1].stores += 8 * M;  // finish_kernel's notes: one candidate proves nothing in any row
  asked.push_back(pack_asks(s));
  asked.push_back(
      {.loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * N * ceil_div(M, 128),
       .stores = 0});
  return asked;
}

std::vector<Asked> second_look_asks(const Search& s, const float*, const float*, float*, float*,
                                    Workspace, cudaStream_t) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks;
  std::vector<Asked> asked = exact_asks(s, /*parts=*/1, /*c=*/2);
  asked.push_back(pack_asks(s));
  asked.push_back(
      {.loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * N * ceil_div(M, 128),
       .stores = 0});
  return asked;
}

std::vector<Asked> atomic_lists_ask(const Search& s, const float*, const float*, float*, float*,
                                    Workspace, cudaStream_t) {
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks;
  const int64_t near = measure == Measure::distance ? 1 : 0;
  std::vector<Asked> asked = exact_asks(s, /*parts=*/1, /*c=*/k + near * SPARE);
  asked.push_back(pack_asks(s));
  asked.push_back(
      {.loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * near * N * ceil_div(M, 128),
       .stores = 0});
  return asked;
}

std::vector<Asked> k_best_asks(const Search& s, const float*, const float*, float*, float*,
                               Workspace, cudaStream_t) {
  const auto& [M, N, D, k, measure] = s;
  const Cut cut = cut_of(s);
  const int64_t blocks = cut.blocks, lists = cut.rows_of_shares(M);
  const int64_t near = measure == Measure::distance ? 1 : 0, c = k + near * SPARE;
  std::vector<Asked> asked = exact_asks(s, cut.parts(), c);
  asked.push_back(pack_asks(s));
  asked.push_back(
      {.loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * near * N * ceil_div(M, 128),
       .stores = 8 * c * lists});
  return asked;
}

std::vector<Asked> limits_first_asks(const Search& s, const float* A, const float* B, float* out,
                                     float* values, Workspace workspace, cudaStream_t stream) {
  if (!has_groups_enough(s)) return k_best_asks(s, A, B, out, values, workspace, stream);
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks, kept = M * room_of(s);
  std::vector<Asked> asked = candidates_ask(s, /*halves=*/0);
  asked.push_back(
      {.kernel = "minima_kernel",
       .loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * N * ceil_div(M, 128),
       .stores = 16 * M * ceil_div(N, 256)});
  asked.push_back(
      {.kernel = "candidates_kernel",
       .loads = 12288 * (ceil_div(D, 8) * ceil_div(M, 128) * ceil_div(N, 256) + blocks) +
                32 * N * ceil_div(M, 128) + 16384 * ceil_div(M, 128) * ceil_div(N, 256),
       .stores = 4 * kept});
  return asked;
}

std::vector<Asked> tensor_cores_asks(const Search& s, const float* A, const float* B, float* out,
                                     float* values, Workspace workspace, cudaStream_t stream) {
  if (!has_groups_enough(s) || !has_tensor_cores())
    return limits_first_asks(s, A, B, out, values, workspace, stream);
  const auto& [M, N, D, k, measure] = s;
  const int64_t blocks = cut_of(s).blocks, kept = M * room_of(s);
  std::vector<Asked> asked = candidates_ask(s, /*halves=*/1);
  asked.push_back(
      {.kernel = "fragments_kernel",
       .loads =
           4 * (M + N) * D + 1024 * ceil_div(D, 16) * (ceil_div(M, 128) + 2 * ceil_div(N, 256)),
       .stores = 32 * ceil_div(D, 16) * (128 * ceil_div(M, 128) + 256 * ceil_div(N, 256))});
  asked.push_back(
      {.kernel = "half_minima_kernel",
       .loads = 12288 * (ceil_div(D, 16) * ceil_div(M, 128) * ceil_div(N, 256) + 4 * blocks) +
                64 * N * ceil_div(M, 128) + 2048 * blocks,
       .stores = 16 * M * ceil_div(N, 256)});
  asked.push_back(
      {.kernel = "half_candidates_kernel",
       .loads = 12288 * (ceil_div(D, 16) * ceil_div(M, 128) * ceil_div(N, 256) + 4 * blocks) +
                64 * N * ceil_div(M, 128) + 8192 * ceil_div(M, 128) * ceil_div(N, 256) +
                2048 * blocks,
       .stores = 4 * kept});
  return asked;
}

}  // namespace tutorial::masked_bmm::nearest
