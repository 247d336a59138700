// What every step must do right, of the chapter and of its part block_lists. `Problem` is a
// ladder's own ProblemOn<…>.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/masked.hpp"

namespace tutorial::masked_bmm {

template <class Problem, class AnyStep>
void check_shapes(const AnyStep& step) {
  for (const Shape& s : {Shape{1, 128, 128, 8},
                         {2, 130, 141, 19},
                         {2, 1, 130, 7},
                         {2, 130, 1, 7},
                         {1, 40, 50, 3},
                         {3, 72, 136, 29}}) {
    CAPTURE(s.batch, s.M, s.N, s.K);
    for (const char* kind : {"none", "causal", "window:20", "random:0.5", "blocks:0.5"}) {
      CAPTURE(kind);
      Problem(s, make_mask(kind, s.batch, s.M, s.N, false, 5)).check(step);
    }
    Problem(s, patterned(s.batch, s.M, s.N)).check(step);
  }
}

template <class Problem, class AnyStep>
void check_masks_of_a_batch(const AnyStep& step) {
  Problem({3, 33, 29, 6}, make_mask("random:0.5", 3, 33, 29, true, 6)).check(step);
  Problem({4, 20, 140, 5}, make_mask("blocks:0.5", 4, 20, 140, true, 1)).check(step);
  Problem({2, 150, 400, 3}, make_mask("blocks:0.5", 2, 150, 400, true, 1)).check(step);
}

template <class Problem, class AnyStep>
void check_other_bytes(const AnyStep& step) {
  Problem({2, 20, 30, 4}, kept_by_other_bytes(20, 30)).check(step);
}

template <class Problem, class AnyStep>
void check_fill_values(const AnyStep& step) {
  for (float fill : {-INF, INF, -1e4f, -1e9f, 0.0f, NOT_A_NUMBER}) {
    CAPTURE(fill);
    Problem({2, 17, 140, 4}, patterned(1, 17, 140), fill).check(step);
  }
}

template <class Problem, class AnyStep>
void check_masked_rows(const AnyStep& step) {
  Problem({2, 140, 136, 5}, make_mask("random:0", 2, 140, 136, false, 0)).check(step);
  Problem({1, 200, 40, 5}, make_mask("causal", 1, 200, 40, false, 0)).check(step);
  Problem(
      {1, 20, 150, 5},
      mask_where(1, 20, 150, [](int64_t, int64_t i, int64_t j) { return i % 3 == 1 && j >= 128; }))
      .check(step);
  Problem({2, 20, 30, 5}, mask_where(2, 20, 30, [](int64_t m, int64_t, int64_t) { return m == 1; }))
      .check(step);
}

template <class Problem, class AnyStep>
void check_nothing_leaks(const AnyStep& step) {
  const int64_t M = 140, N = 150, K = 9;
  const Mask corner = mask_where(
      1, M, N, [](int64_t, int64_t i, int64_t j) { return i < 100 && j < 90 && (i + j) % 5 != 0; });
  for (float poison : {NOT_A_NUMBER, INF}) {
    Problem problem({2, M, N, K}, corner);
    for (int64_t row = 0; row < 2 * M; ++row)
      if (row % M >= 100) std::fill_n(problem.A.begin() + row * K, K, poison);
    for (int64_t e = 0; e < 2 * K * N; ++e)
      if (e % N >= 90) problem.B[e] = poison;
    problem.upload();
    problem.check(step);
  }
}

template <class Problem, class AnyStep>
void check_special_values(const AnyStep& step) {
  Problem problem({1, 20, 20, 9}, make_mask("causal", 1, 20, 20, false, 0));
  problem.A[12 * 9 + 3] = NOT_A_NUMBER;
  problem.A[14 * 9 + 8] = INF;
  problem.upload();
  problem.check(step);
}

template <class Problem, class AnyStep>
void check_alignments(const AnyStep& step) {
  for (int64_t offset : {1, 2, 3}) {
    CAPTURE(offset);
    Problem({2, 12, 132, 8}, patterned(2, 12, 132), -INF, offset).check(step, offset);
    // One of them alone.
    Problem problem({2, 12, 132, 8}, patterned(2, 12, 132));
    problem.check(step, offset);  // C
    problem.device_A = DeviceBuffer<float>(problem.A, offset);
    problem.check(step);
    problem.upload();
    problem.device_B = DeviceBuffer<float>(problem.B, offset);
    problem.check(step);
    problem.upload();
    problem.device.mask = DeviceBuffer<uint8_t>(problem.mask.keep, offset);
    problem.p.mask = problem.device.mask.data();
    problem.check(step);
  }
}

// Smaller than a GPU's, so that it does not take a large problem: blocks go on to further matrices
// and rows of blocks, and launchers launch again.
template <class Problem, class AnyStep>
void check_small_grid(const AnyStep& step) {
  const SmallGrid grid(3, 2);
  for (const bool per_batch : {false, true}) {
    Problem({3, 260, 132, 5}, make_mask("random:0.5", 3, 260, 132, per_batch, 8)).check(step);
  }
}

template <class Problem, class AnyStep>
void check_empty(const AnyStep& step) {
  Problem({0, 5, 6, 7}, {{}, true}).check(step);
  Problem({0, 5, 6, 7}, make_mask("causal", 0, 5, 6, false, 0)).check(step);
  Problem({2, 0, 6, 7}, {{}, false}).check(step);
  Problem({2, 5, 0, 7}, {{}, false}).check(step);
  Problem({2, 5, 140, 0}, patterned(2, 5, 140)).check(step);  // 0 where kept
}

// Copies and stores of 16 bytes or of 4; of one piece of K or of several, of which the last is
// whole or not.
template <class Problem, class AnyStep>
void check_ways(const AnyStep& step) {
  for (int64_t K : {1, 4, 30, 32, 36, 64, 65, 68, 96, 97, 132, 160}) {
    for (int64_t N : {132, 133}) {
      CAPTURE(K, N);
      Problem({2, 70, N, K}, patterned(2, 70, N)).check(step);
    }
  }
  const int64_t K = 36, N = 132;  // one of the three off its alignment
  Problem problem({1, 70, N, K}, patterned(1, 70, N));
  problem.device_A = DeviceBuffer<float>(problem.A, 1);
  problem.check(step);
  problem.upload();
  problem.device_B = DeviceBuffer<float>(problem.B, 2);
  problem.check(step);
  problem.upload();
  problem.check(step, 3);
}

// A C with more than 2^31 elements: 10 GB, so the test must be asked for by its tag.
inline constexpr Shape LARGE_C = {.batch = 3, .M = 26800, .N = 26800, .K = 4};
template <class Problem, class AnyStep>
void check_large_c(const AnyStep& step, Problem& problem) {
  const auto& [batch, M, N, K] = LARGE_C;
  DeviceBuffer<float> C(batch * M * N);
  step.launch(problem.p, problem.device_A.data(), problem.device_B.data(), C.data());
  CUDA_CHECK_LAUNCH();
  // The last two rows, of which the first lacks one element.
  const std::vector<int64_t> rows = {batch * M - 2, batch * M - 1};
  std::vector<float> got(2 * N);
  CUDA_CHECK(cudaMemcpy(got.data(), C.data() + rows[0] * N, 2 * N * sizeof(float),
                        cudaMemcpyDeviceToHost));
  const Comparison comparison =
      compare(got, masked_bmm_reference(problem.p, problem.mask, problem.A, problem.B, rows),
              {.rows = 2, .cols = N});
  INFO(step.name << ", the last two rows:\n" << comparison.report);
  CHECK(comparison.ok);
  CHECK(C.guards_intact());
}

}  // namespace tutorial::masked_bmm
