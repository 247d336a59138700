// The program of part block_lists: each step on the same matrices and the same mask, beside cuBLAS
// and a kernel that fills.
#include "block_lists/block_lists.hpp"
#include "block_lists/device_lists.hpp"
#include "checks.hpp"
#include "common/measure/row_major_blas.hpp"
#include "masked_problem.hpp"

using namespace tutorial;
using namespace tutorial::masked_bmm;
using namespace tutorial::masked_bmm::block_lists;

const Usage usage = with_masked_options(
    {.program = "03_masked_bmm/block_lists",
     .summary = "C[b] = A[b]·B[b] where a mask keeps: the mask in words, the blocks in a list",
     .after = block_lists::after,
     .steps = listed(block_lists::steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const MaskedProblem problem = read_problem(options);
  Table table(options);
  announce(table, options, problem, sizeof(Kept) + sizeof(ListedBlock), sizeof(uint64_t));

  const Mask& mask = problem.mask;
  ListedBmm p = {problem.p};
  DeviceLists device(p, mask);
  p.band = band_of(options.text("--mask"), p.M, p.N);
  const auto build_lists = [&](float*) {
    build_mask_words(p, device.words.data(), device.states.data(), device.list.data());
  };
  build_lists(nullptr);
  const double lists_bytes = static_cast<double>(device.mask.size() + device.states.size() +
                                                 sizeof(uint64_t) * device.words.size() +
                                                 sizeof(ListedBlock) * device.list.size());

  Input &input_a = options.input("a"), &input_b = options.input("b");
  const auto check = [&](const Launched& row) {
    return check_product(p, mask, input_a.host(), input_b.host(), row.output, row.layout);
  };

  const float *a = input_a.device(), *b = input_b.device();
  for (const auto& step : block_lists::steps) {
    if (step.launch == mask_words && options.selected(step.name)) {
      auto row = table.launch(Row{
          .name = "mask_words_and_list",
          .launch = build_lists,
          .before =
              [&](float*) { device.words.poison(), device.states.poison(), device.list.poison(); },
          .asked = [&] { return mask_words_and_list_ask(p); },
          .shape = {1},  // the result is the words and the list, not a float tensor
          .cost = {.bytes = lists_bytes},
          .is_stage = true,
      });
      const auto seen = [&](std::vector<float> rights) { return row.fetch(std::move(rights)); };
      if (row) table.add(row, check_lists(p, mask, device, seen));
    }
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    if (auto row = table.launch(step, [&](auto run, float* C) { return run(p, a, b, C); }))
      table.add(row, check(row));
  }

  const CublasHandle handle;
  const auto cublas_and_fill = [&](float* C) {
    row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, 1.0f, a, p.M * p.K, b, p.K * p.N, 0.0f,
                           C, p.M * p.N);
    masked_fill(p, C);
  };
  if (auto row = table.launch_vendor("cuBLAS + fill", cublas_and_fill)) table.add(row, check(row));
  if (device_has_clock())
    table.note(
        "mask_words_and_list has a row of its own: a mask is made once and serves many products");
  else if (options.compares())
    table.note("of cuBLAS + fill only the fill is counted");
  return table.finish();
} catch (...) {
  return exit_status();
}
