// The program of chapter 03: masked batched matrix product.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "03_masked_bmm.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"

using namespace tutorial;

namespace {

float parse_fill(const std::string& text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end)
    throw Error("--fill \"" + text + "\" is not a float32 number; give one like -1e4, -inf or nan");
  return value;
}

std::string share(int64_t part, int64_t whole) {
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f", whole == 0 ? 0.0 : 100.0 * part / whole);
  return std::to_string(part) + " of " + std::to_string(whole) + " (" + percent + " %)";
}

/// Checks all rows, or as many random ones as 10⁹ products of the reference reach.
Comparison check_product(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                         std::span<const float> B, std::span<const float> got,
                         const Layout& layout) {
  const int64_t rows = p.batch * p.M;
  const int64_t affordable = std::max<int64_t>(1'000'000'000 / (p.N * (p.K + 1)), 64);
  if (rows <= affordable) return compare(got, masked_bmm_reference(p, mask, A, B), layout);
  const std::vector<int64_t> some = sample_rows(rows, affordable, 1);
  return compare_rows(got, masked_bmm_reference(p, mask, A, B, some), some, layout);
}

Comparison check_coarse_masks(const MaskedBmm& p, const Mask& mask,
                              const DeviceBuffer<Kept>& block_mask,
                              const DeviceBuffer<Kept>& thread_mask) {
  Comparison result;
  const auto compare_one = [&](const char* name, const std::vector<Kept>& got, int tile) {
    const std::vector<Kept> want = coarse_mask_reference(mask, p.M, p.N, tile);
    int64_t wrong = 0;
    for (size_t e = 0; e < want.size(); ++e) wrong += got[e] != want[e];
    if (wrong > 0)
      result.report += "  the " + std::string(name) +
                       " mask: " + share(wrong, static_cast<int64_t>(want.size())) +
                       " entries are wrong\n";
    result.wrong += wrong;
  };
  compare_one("block", block_mask.to_host(), BLOCK);
  compare_one("thread", thread_mask.to_host(), PATCH);
  result.ok = result.wrong == 0;
  return result;
}

Comparison check_mask_words(const MaskedBmm& p, const Mask& mask,
                            const DeviceBuffer<uint64_t>& words,
                            const DeviceBuffer<BlockPlace>& list) {
  Comparison result;
  const auto want_words = mask_words_reference(mask, p.M, p.N), got_words = words.to_host();
  for (size_t e = 0; e < want_words.size(); ++e) result.wrong += got_words[e] != want_words[e];
  const auto want_list = block_list_reference(mask, p.M, p.N), got_list = list.to_host();
  for (size_t e = 0; e < want_list.size(); ++e)
    result.wrong += got_list[e].mask != want_list[e].mask || got_list[e].row != want_list[e].row ||
                    got_list[e].col != want_list[e].col || got_list[e].kept != want_list[e].kept;
  result.ok = result.wrong == 0;
  if (!result.ok)
    result.report =
        "  of the words and the list of blocks " +
        share(result.wrong, static_cast<int64_t>(want_words.size() + want_list.size())) +
        " are wrong\n";
  return result;
}

void masked_bmm(Chapter& chapter) {
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
  const double mask_bytes = static_cast<double>(mask.keep.size());
  const int64_t blocks = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  const int64_t patches = p.masks() * ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
  const int64_t kept = std::ranges::count(mask.keep, 1) * (mask.per_batch ? 1 : p.batch);

  // The work that no program can avoid: the products that are kept, the inputs once, all of C once.
  const Cost cost = {
      .flop = 2.0 * kept * p.K,
      .bytes = 4.0 * p.batch * (p.M + p.N) * p.K + mask_bytes + 4.0 * outputs,
  };
  const std::string b = std::to_string(p.batch) + "×", m = std::to_string(p.M),
                    n = std::to_string(p.N), k = std::to_string(p.K);
  chapter.problem("C[" + b + m + "×" + n + "] = A[" + b + m + "×" + k + "] · B[" + b + k + "×" + n +
                      "], mask " + mask_name + ", " + fill + " where it does not keep, fp32",
                  cost, {p.batch, p.M, p.N},
                  mask_bytes + blocks + 9.0 * patches + sizeof(BlockPlace) * blocks);

  const DeviceBuffer<uint8_t> device_mask(mask.keep);
  DeviceBuffer<Kept> block_mask(blocks), thread_mask(patches);
  p.mask = device_mask.data();
  p.block_mask = block_mask.data();
  p.thread_mask = thread_mask.data();
  build_coarse_masks(p, block_mask.data(), thread_mask.data());
  DeviceBuffer<uint64_t> words(patches);
  DeviceBuffer<BlockPlace> list(blocks);
  p.mask_words = words.data();
  p.block_list = list.data();
  build_mask_words(p, words.data(), block_mask.data(), list.data());
  p.band = band_of(mask_name, p.M, p.N);
  const Skipped skipped = count_skipped(p, block_mask.to_host(), thread_mask.to_host());
  chapter.symbols({{"masks", p.masks()},
                   {"masked", outputs - kept},
                   {"live", (skipped.blocks_in_all - skipped.blocks) * p.batch / p.masks()}});
  chapter.say("kept: elements " + share(kept, outputs) + ", whose FLOP these are");
  chapter.say("skipped: blocks " + share(skipped.blocks, skipped.blocks_in_all));
  chapter.say("  in the other blocks: threads " + share(skipped.threads, skipped.threads_in_all) +
              ", whole warps " + share(skipped.warps, skipped.warps_in_all));

  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return check_product(p, mask, input_a.host(), input_b.host(), got, layout);
  });
  for (const auto& step : steps) {
    if (step.launch == three_level_mask && chapter.selected(step.name))
      chapter.run(Row{
          .name = "coarse_masks",
          .launch = [&](float*) { build_coarse_masks(p, block_mask.data(), thread_mask.data()); },
          .before =
              [&](float*) {
                block_mask.poison();
                thread_mask.poison();
              },
          .shape = {1},  // the result is the two masks, not a float tensor
          .check = [&](auto, auto) { return check_coarse_masks(p, mask, block_mask, thread_mask); },
          .cost = {.bytes = mask_bytes + blocks + patches},
          .is_stage = true,
      });
    if (step.launch == mask_words && chapter.selected(step.name))
      chapter.run(Row{
          .name = "mask_words_and_list",
          .launch =
              [&](float*) { build_mask_words(p, words.data(), block_mask.data(), list.data()); },
          .before =
              [&](float*) {
                words.poison();
                block_mask.poison();
                list.poison();
              },
          .shape = {1},
          .check = [&](auto, auto) { return check_mask_words(p, mask, words, list); },
          .cost = {.bytes = mask_bytes + blocks + 8.0 * patches + sizeof(BlockPlace) * blocks},
          .is_stage = true,
      });
    chapter.run(step, [&](float* C) { step.launch(p, input_a.device(), input_b.device(), C); });
  }
  const CublasHandle handle;
  chapter.vendor("cuBLAS + fill", [&](float* C) {
    row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, 1.0f, input_a.device(), p.M * p.K,
                           input_b.device(), p.K * p.N, 0.0f, C, p.M * p.N);
    masked_fill(p, C);
  });
  if (device_has_clock())
    chapter.note(
        "coarse_masks and mask_words_and_list have rows of their own: a mask is made once and "
        "serves many products");
  else
    chapter.note("of cuBLAS + fill only the fill is counted");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(
      argc, argv, "03_masked_bmm",
      {{"", "C[b] = A[b]·B[b] where a mask keeps, a fill value elsewhere", masked_bmm}});
}
