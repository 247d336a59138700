#include "masked_problem.hpp"

#include <algorithm>
#include <utility>

#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "mask_options.hpp"
#include "skipped.hpp"

namespace tutorial::masked_bmm {

Usage with_masked_options(Usage own) {
  own.sizes = {{"--batch", {.gpu = 128, .cpu = 2}, "matrices"},
               {"--m", {.gpu = 1024, .cpu = 600}, "rows of A and C"},
               {"--n", {.gpu = 1024, .cpu = 600}, "columns of B and C"},
               {"--k", {.gpu = 64, .cpu = 64}, "columns of A, rows of B"}};
  own.flags = {{"--mask-per-batch", false, "make a mask for each matrix"}};
  own.texts = {{"--mask", "causal", "none|causal|window:W|random:P|blocks:P|FILE.npy"},
               {"--fill", "-inf", "the value where the mask does not keep"}};
  own.inputs = {{"a", {"--batch", "--m", "--k"}, "the left matrices"},
                {"b", {"--batch", "--k", "--n"}, "the right matrices"}};
  return own;
}

MaskedProblem read_problem(const Options& options) {
  MaskedBmm p;
  p.batch = options.size("--batch"), p.K = options.size("--k");
  p.M = options.size("--m"), p.N = options.size("--n");
  p.fill = parse_fill(options.text("--fill"));
  DeviceBuffer<float>{element_count({p.batch, p.M, p.N})};  // throws before the host makes the mask
  Mask mask = make_mask(options.text("--mask"), p.batch, p.M, p.N, options.flag("--mask-per-batch"),
                        options.seed() + 100);
  p.mask_per_batch = mask.per_batch;
  return {p, std::move(mask)};
}

void announce(Table& table, const Options& options, const MaskedProblem& problem,
              double bytes_of_block, double bytes_of_patch) {
  const auto& [p, mask] = problem;
  const int64_t outputs = element_count({p.batch, p.M, p.N});
  const int64_t kept = std::ranges::count(mask.keep, 1) * (mask.per_batch ? 1 : p.batch);
  const Skipped skipped = count_skipped(p, coarse_mask_reference(mask, p.M, p.N, BLOCK),
                                        coarse_mask_reference(mask, p.M, p.N, PATCH));

  // The work that no program can avoid: the products that are kept, the inputs once, all of C once.
  const double mask_bytes = static_cast<double>(mask.keep.size());
  const double blocks = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  const double patches = p.masks() * ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
  table.problem(
      "C[" + shape_text({p.batch, p.M, p.N}) + "] = A[" + shape_text({p.batch, p.M, p.K}) +
          "] · B[" + shape_text({p.batch, p.K, p.N}) + "], mask " + options.text("--mask") + ", " +
          options.text("--fill") + " where it does not keep, fp32",
      {.flop = 2.0 * kept * p.K,
       .bytes = 4.0 * p.batch * (p.M + p.N) * p.K + mask_bytes + 4.0 * outputs},
      {p.batch, p.M, p.N}, mask_bytes + bytes_of_block * blocks + bytes_of_patch * patches);
  table.say("kept: elements " + share(kept, outputs) + ", whose FLOP these are");
  for (const std::string& line : skipped_text(skipped)) table.say(line);
}

}  // namespace tutorial::masked_bmm
