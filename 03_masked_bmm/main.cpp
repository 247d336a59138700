// The program of chapter 03: each step on the same matrices and the same mask, beside cuBLAS and a
// kernel that fills. The sizes, the mask and the inputs are read in masked_problem.cpp.
#include "03_masked_bmm.hpp"
#include "block_lists/block_lists.hpp"
#include "checks.hpp"
#include "common/measure/row_major_blas.hpp"
#include "device_masks.hpp"
#include "masked_problem.hpp"

using namespace tutorial;
using namespace tutorial::masked_bmm;

const Usage usage =
    with_masked_options({.program = "03_masked_bmm",
                         .summary = "C[b] = A[b]·B[b] where a mask keeps, a fill value elsewhere",
                         .steps = listed(steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const MaskedProblem problem = read_problem(options);
  Table table(options);
  announce(table, options, problem, sizeof(Kept), sizeof(Kept));

  const Mask& mask = problem.mask;
  MaskedBmm p = problem.p;
  DeviceMasks device(p, mask);
  const auto build_masks = [&](float*) {
    build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
  };
  build_masks(nullptr);
  const double masks_bytes = static_cast<double>(device.mask.size() + device.block_mask.size() +
                                                 device.thread_mask.size());

  Input &input_a = options.input("a"), &input_b = options.input("b");
  const auto check = [&](const Launched& row) {
    return check_product(p, mask, input_a.host(), input_b.host(), row.output, row.layout);
  };

  const float *a = input_a.device(), *b = input_b.device();
  for (const auto& step : steps) {
    if (step.launch == three_level_mask && options.selected(step.name)) {
      auto row = table.launch(Row{
          .name = "coarse_masks",
          .launch = build_masks,
          .before = [&](float*) { device.block_mask.poison(), device.thread_mask.poison(); },
          .asked = [&] { return coarse_masks_ask(p); },
          .shape = {1},  // the result is the two masks, not a float tensor
          .cost = {.bytes = masks_bytes},
          .is_stage = true,
      });
      const auto seen = [&](std::vector<float> entries) { return row.fetch(std::move(entries)); };
      if (row) table.add(row, check_coarse_masks(p, mask, device, seen));
    }
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    if (auto row = table.launch(step, [&](auto run, float* C) { return run(p, a, b, C); }))
      table.add(row, check(row));
  }

  // The goal asks for no mask that is made before, but for one that a formula describes.
  const block_lists::ListedBmm goal = {p, nullptr, nullptr,
                                       block_lists::band_of(options.text("--mask"), p.M, p.N)};
  const auto closed_form = [&](float* C) { block_lists::closed_form(goal, a, b, C); };
  if (goal.band)
    if (auto row = table.launch_goal("block_lists/closed_form", closed_form))
      table.add(row, check(row));

  const CublasHandle handle;
  const auto cublas_and_fill = [&](float* C) {
    row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, 1.0f, a, p.M * p.K, b, p.K * p.N, 0.0f,
                           C, p.M * p.N);
    masked_fill(p, C);
  };
  if (auto row = table.launch_vendor("cuBLAS + fill", cublas_and_fill)) table.add(row, check(row));
  if (device_has_clock())
    table.note("coarse_masks has a row of its own: a mask is made once and serves many products");
  else if (options.compares())
    table.note("of cuBLAS + fill only the fill is counted");
  return table.finish();
} catch (...) {
  return exit_status();
}
