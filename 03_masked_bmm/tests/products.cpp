// Every step, with every mask, at every shape.
#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

TEST_CASE("every mask at every kind of shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
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

TEST_CASE("a mask of its own for each batch") {
  const auto step = EACH_STEP(steps);
  Problem({3, 33, 29, 6}, make_mask("random:0.5", 3, 33, 29, true, 6)).check(step);
  Problem({4, 20, 140, 5}, make_mask("blocks:0.5", 4, 20, 140, true, 1)).check(step);
  Problem({2, 150, 400, 3}, make_mask("blocks:0.5", 2, 150, 400, true, 1)).check(step);
}

TEST_CASE("any nonzero byte of the mask keeps") {
  const auto step = EACH_STEP(steps);
  Problem({2, 20, 30, 4}, kept_by_other_bytes(20, 30)).check(step);
}

TEST_CASE("fill values: infinite, finite, zero and NaN") {
  const auto step = EACH_STEP(steps);
  for (float fill : {-INF, INF, -1e4f, -1e9f, 0.0f, NOT_A_NUMBER}) {
    CAPTURE(fill);
    Problem({2, 17, 140, 4}, patterned(1, 17, 140), fill).check(step);
  }
}

TEST_CASE("rows, blocks and whole problems that are masked") {
  const auto step = EACH_STEP(steps);
  Problem({2, 140, 136, 5}, make_mask("random:0", 2, 140, 136, false, 0)).check(step);
  Problem({1, 200, 40, 5}, make_mask("causal", 1, 200, 40, false, 0)).check(step);
  Problem(
      {1, 20, 150, 5},
      mask_where(1, 20, 150, [](int64_t, int64_t i, int64_t j) { return i % 3 == 1 && j >= 128; }))
      .check(step);
  Problem({2, 20, 30, 5}, mask_where(2, 20, 30, [](int64_t m, int64_t, int64_t) { return m == 1; }))
      .check(step);
}

TEST_CASE("what the mask hides does not leak: NaN and infinity in hidden rows and columns") {
  const int64_t M = 140, N = 150, K = 9;
  const Mask corner = mask_where(
      1, M, N, [](int64_t, int64_t i, int64_t j) { return i < 100 && j < 90 && (i + j) % 5 != 0; });
  const auto step = EACH_STEP(steps);
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

TEST_CASE("NaN and infinity where the mask keeps reach the result") {
  const auto step = EACH_STEP(steps);
  Problem problem({1, 20, 20, 9}, make_mask("causal", 1, 20, 20, false, 0));
  problem.A[12 * 9 + 3] = NOT_A_NUMBER;
  problem.A[14 * 9 + 8] = INF;
  problem.upload();
  problem.check(step);
}

TEST_CASE("no alignment but a float's is needed") {
  const auto step = EACH_STEP(steps);
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
    problem.device_masks.mask = DeviceBuffer<uint8_t>(problem.mask.keep, offset);
    problem.p.mask = problem.device_masks.mask.data();
    problem.check(step);
  }
}

// Smaller than a GPU's, so that it does not take a large problem: blocks go on to further matrices
// and rows of blocks, and launchers launch again.
TEST_CASE("more matrices and blocks than a small grid has") {
  const auto step = EACH_STEP(steps);
  const SmallGrid grid(3, 2);
  for (const bool per_batch : {false, true}) {
    Problem({3, 260, 132, 5}, make_mask("random:0.5", 3, 260, 132, per_batch, 8)).check(step);
  }
  if (step.launch != closed_form) return;
  Problem band({3, 260, 132, 5}, make_mask("causal", 3, 260, 132, false, 0));
  band.p.band = band_of("causal", 260, 132);
  band.check(step);
}

TEST_CASE("more matrices than the fill has blocks in y") {
  const auto step = EACH_STEP(steps_with({bmm_then_fill}));
  Problem({1030, 1, 2, 0}, make_mask("random:0.5", 1030, 1, 2, true, 8)).check(step);
}

TEST_CASE("sizes of zero") {
  const auto step = EACH_STEP(steps);
  Problem({0, 5, 6, 7}, {{}, true}).check(step);
  Problem({0, 5, 6, 7}, make_mask("causal", 0, 5, 6, false, 0)).check(step);
  Problem({2, 0, 6, 7}, {{}, false}).check(step);
  Problem({2, 5, 0, 7}, {{}, false}).check(step);
  Problem({2, 5, 140, 0}, patterned(2, 5, 140)).check(step);  // 0 where kept
}

TEST_CASE("more matrices than a grid's z has blocks", "[large]") {
  const auto step = EACH_STEP(steps);
  // One step shows on the simulator, too, what a grid that is too deep does.
  if (step.launch != bmm_then_fill && !device_has_clock())
    SKIP("65537 blocks of each step would take the simulator too long");
  const int64_t batch = grid_limit.y + 2, K = device_has_clock() ? 3 : 0;
  const Mask mask = make_mask("random:0.5", batch, 1, 2, true, 8);
  if (step.launch == closed_form) return;  // without a band it is overlapped_tiles
  Problem({batch, 1, 2, K}, mask).check(step);
}

TEST_CASE("more rows of blocks than a grid's y has", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("65536 blocks of each step would take the simulator too long");
  if (step.launch == closed_form) return;  // without a band it is overlapped_tiles
  Problem({1, ROWS_BEYOND_GRID, 1, 3}, every_third_row(ROWS_BEYOND_GRID)).check(step);
}

// 10 GB, so it must be asked for by its tag.
TEST_CASE("every step takes a C with more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  const int64_t batch = 3, M = 26800, N = 26800, K = 4;
  Problem problem({batch, M, N, K}, make_mask("causal", batch, M, N, false, 0));
  problem.p.band = band_of("causal", M, N);
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

}  // namespace
}  // namespace tutorial::masked_bmm
