// The program of chapter 03: masked batched matrix product.
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "checks.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"
#include "device_masks.hpp"
#include "mask_options.hpp"
#include "nearest/nearest.hpp"
#include "skipped.hpp"

namespace tutorial::masked_bmm {
namespace {

void body(Chapter& chapter) {
  MaskedBmm p;
  std::string mask_name = "causal", fill = "-inf";
  chapter.size("--batch", p.batch, {.gpu = 128, .cpu = 2}, "matrices");
  chapter.size("--m", p.M, {.gpu = 1024, .cpu = 600}, "rows of A and C");
  chapter.size("--n", p.N, {.gpu = 1024, .cpu = 600}, "columns of B and C");
  chapter.size("--k", p.K, {.gpu = 64, .cpu = 64}, "columns of A, rows of B");
  chapter.text("--mask", mask_name, "none|causal|window:W|random:P|blocks:P|FILE.npy");
  chapter.flag("--mask-per-batch", p.mask_per_batch, "make a mask for each matrix");
  chapter.text("--fill", fill, "the value where the mask does not keep");
  Input& input_a = chapter.input("a", {{"--batch"}, {"--m"}, {"--k"}}, "the left matrices");
  Input& input_b = chapter.input("b", {{"--batch"}, {"--k"}, {"--n"}}, "the right matrices");
  chapter.steps(steps);
  chapter.parse();
  chapter.symbols({{"B", p.batch}, {"M", p.M}, {"N", p.N}, {"K", p.K}});

  p.fill = parse_fill(fill);
  const int64_t outputs = element_count({p.batch, p.M, p.N});
  DeviceBuffer<float>{outputs};  // throws where C does not fit, before the host makes the mask
  const Mask mask = make_mask(mask_name, p.batch, p.M, p.N, p.mask_per_batch, chapter.seed() + 100);
  p.mask_per_batch = mask.per_batch;
  p.band = band_of(mask_name, p.M, p.N);
  const int64_t kept = std::ranges::count(mask.keep, 1) * (mask.per_batch ? 1 : p.batch);
  chapter.symbols({{"masks", p.masks()}, {"masked", outputs - kept}});

  // The work that no program can avoid: the products that are kept, the inputs once, all of C once.
  const double mask_bytes = static_cast<double>(mask.keep.size());
  const double block_count = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  const double patch_count = p.masks() * ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
  const double list_bytes = sizeof(ListedBlock) * block_count;
  chapter.problem("C[" + shape_text({p.batch, p.M, p.N}) + "] = A[" +
                      shape_text({p.batch, p.M, p.K}) + "] · B[" + shape_text({p.batch, p.K, p.N}) +
                      "], mask " + mask_name + ", " + fill + " where it does not keep, fp32",
                  {.flop = 2.0 * kept * p.K,
                   .bytes = 4.0 * p.batch * (p.M + p.N) * p.K + mask_bytes + 4.0 * outputs},
                  {p.batch, p.M, p.N}, mask_bytes + block_count + 9 * patch_count + list_bytes);

  DeviceMasks device(p, mask);
  const auto coarse_masks = [&](float*) {
    build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
  };
  const auto words_and_list = [&](float*) {
    build_mask_words(p, device.words.data(), device.block_mask.data(), device.list.data());
  };
  coarse_masks(nullptr);
  words_and_list(nullptr);
  const Skipped skipped =
      count_skipped(p, device.block_mask.to_host(), device.thread_mask.to_host());
  chapter.symbols({{"live", skipped.live_blocks()}});
  chapter.say("kept: elements " + share(kept, outputs) + ", whose FLOP these are");
  for (const std::string& line : skipped_text(skipped)) chapter.say(line);

  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return check_product(p, mask, input_a.host(), input_b.host(), got, layout);
  });
  const float *a = input_a.device(), *b = input_b.device();
  for (const auto& step : steps) {
    if (step.launch == three_level_mask && chapter.selected(step.name))
      chapter.run(Row{
          .name = "coarse_masks",
          .launch = coarse_masks,
          .before = [&](float*) { device.block_mask.poison(), device.thread_mask.poison(); },
          .shape = {1},  // the result is the two masks, not a float tensor
          .check = [&](auto, auto) { return check_coarse_masks(p, mask, device); },
          .cost = {.bytes = mask_bytes + block_count + patch_count},
          .is_stage = true,
      });
    if (step.launch == mask_words && chapter.selected(step.name))
      chapter.run(Row{
          .name = "mask_words_and_list",
          .launch = words_and_list,
          .before =
              [&](float*) {
                device.words.poison(), device.block_mask.poison(), device.list.poison();
              },
          .shape = {1},
          .check = [&](auto, auto) { return check_mask_words(p, mask, device); },
          .cost = {.bytes = mask_bytes + block_count + 8 * patch_count + list_bytes},
          .is_stage = true,
      });
    chapter.run(step, [&](float* C) { step.launch(p, a, b, C); });
  }
  const CublasHandle handle;
  chapter.vendor("cuBLAS + fill", [&](float* C) {
    row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, 1.0f, a, p.M * p.K, b, p.K * p.N, 0.0f,
                           C, p.M * p.N);
    masked_fill(p, C);
  });
  if (device_has_clock())
    chapter.note(
        "coarse_masks and mask_words_and_list have rows of their own: a mask is made once and "
        "serves many products");
  else if (chapter.compares())
    chapter.note("of cuBLAS + fill only the fill is counted");
}

}  // namespace
}  // namespace tutorial::masked_bmm

int main(int argc, char** argv) {
  return tutorial::run_chapter(argc, argv, "03_masked_bmm",
                               {{"", "C[b] = A[b]·B[b] where a mask keeps, a fill value elsewhere",
                                 tutorial::masked_bmm::body},
                                {"nearest", "the nearest of many points, or each row's minimum",
                                 tutorial::masked_bmm::nearest::body}});
}
