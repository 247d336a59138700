// What --mask means, and the reference.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>

#include "common/data/npy.hpp"
#include "common/kernel/error.hpp"
#include "problem.hpp"
#include "skipped.hpp"

namespace tutorial::masked_bmm {
namespace {

std::string drawn(const Mask& mask, int64_t N) {
  std::string text;
  for (size_t e = 0; e < mask.keep.size(); ++e) {
    text += mask.keep[e] ? '1' : '0';
    if ((e + 1) % N == 0) text += ' ';
  }
  return text;
}

TEST_CASE("masks have the shapes that the header defines") {
  CHECK(drawn(make_mask("none", 1, 2, 3, false, 0), 3) == "111 111 ");
  CHECK(drawn(make_mask("causal", 1, 3, 3, false, 0), 3) == "100 110 111 ");
  CHECK(drawn(make_mask("causal", 1, 2, 4, false, 0), 4) == "1110 1111 ");
  CHECK(drawn(make_mask("causal", 1, 4, 2, false, 0), 2) == "00 00 10 11 ");
  CHECK(drawn(make_mask("window:2", 1, 4, 4, false, 0), 4) == "1000 1100 0110 0011 ");
  CHECK(drawn(make_mask("window:1", 1, 2, 4, false, 0), 4) == "0010 0001 ");
  CHECK(drawn(make_mask("window:9223372036854775807", 1, 2, 2, false, 0), 2) == "10 11 ");
  CHECK(drawn(make_mask("causal", 2, 2, 2, true, 0), 2) == "10 11 10 11 ");
  CHECK(drawn(make_mask("random:0", 1, 2, 2, false, 0), 2) == "00 00 ");
  CHECK(drawn(make_mask("blocks:1", 1, 2, 2, false, 0), 2) == "11 11 ");
  CHECK(make_mask("causal", 2, 0, 5, true, 0).keep.empty());
}

TEST_CASE(
    "random masks keep the share asked for, and differ from batch to batch and seed to seed") {
  const int64_t M = 300, N = 200, size = M * N;
  const Mask mask = make_mask("random:0.25", 2, M, N, true, 7);
  CHECK(mask.per_batch);
  CHECK(std::abs(std::ranges::count(mask.keep, 1) / (2.0 * size) - 0.25) < 0.01);
  CHECK_FALSE(std::equal(mask.keep.begin(), mask.keep.begin() + size, mask.keep.begin() + size));
  CHECK(make_mask("random:0.25", 2, M, N, true, 7).keep == mask.keep);
  CHECK(make_mask("random:0.25", 2, M, N, true, 8).keep != mask.keep);

  const Mask blocks = make_mask("blocks:0.5", 64, M, N, true, 7);
  const auto states = coarse_mask_reference(blocks, M, N, BLOCK);
  CHECK(std::ranges::count(states, Kept::some) == 0);
  CHECK(std::abs(std::ranges::count(states, Kept::all) / double(states.size()) - 0.5) < 0.1);
}

TEST_CASE("a mask from a file, and masks that are refused", "[files]") {  // a page has none
  using Catch::Matchers::ContainsSubstring;
  using Catch::Matchers::MessageMatches;
  const std::string path =
      (std::filesystem::temp_directory_path() / "tutorial_mask_test.npy").string();
  const auto refused = [&](const std::string& kind, const std::string& words) {
    CAPTURE(kind);
    CHECK_THROWS_MATCHES(make_mask(kind, 2, 2, 3, false, 0), Error,
                         MessageMatches(ContainsSubstring(words)));
  };

  write_npy(path, {{2, 3}, {1, 0, 1, 0, 0, 1}});
  CHECK(drawn(make_mask(path, 2, 2, 3, false, 0), 3) == "101 001 ");
  CHECK_FALSE(make_mask(path, 2, 2, 3, true, 0).per_batch);
  write_npy(path, {{2, 2, 3}, {1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0}});
  CHECK(drawn(make_mask(path, 2, 2, 3, false, 0), 3) == "101 001 010 110 ");
  CHECK(make_mask(path, 2, 2, 3, false, 0).per_batch);

  write_npy(path, {{3, 2}, {1, 0, 1, 0, 0, 1}});
  refused(path, "2×3");
  write_npy(path, {{2, 3}, {0, 0, -INF, 0, 0, 0}});  // an additive mask, as some programs use
  refused(path, "-inf");
  std::filesystem::remove(path);
  refused(path, path);
  for (const char* kind : {"", "Causal", "causal:3", "window", "random", "mask.txt"})
    refused(kind, "random:P");
  for (const char* kind :
       {"window:", "window:0", "window:-1", "window:2.5", "window:x", "window:99999999999999999999",
        "random:", "random:1.5", "random:-0.1", "random:nan", "blocks:2", "blocks:0.5x"})
    refused(kind, "after the colon");
}

TEST_CASE("a fill value is a float32 number") {
  CHECK(parse_fill("-1e4") == -10000.0f);
  CHECK(parse_fill("-inf") == -INF);
  CHECK(std::isnan(parse_fill("nan")));
  for (const char* text : {"", "x", "1e4 ", "1,5", "1e99"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_fill(text), Error);
  }
}

TEST_CASE("the reference gives B for the identity, and the fill value where the mask is 0") {
  const int64_t n = 9;
  const Mask mask = patterned(2, n, n);
  MaskedBmm p;
  p.batch = 2;
  p.M = p.N = p.K = n;
  p.mask_per_batch = true;
  p.fill = -7;
  const auto A = make_values({2, n, n}, Init::identity, 0);
  const auto B = make_values({2, n, n}, Init::normal, 1);
  const Expected want = masked_bmm_reference(p, mask, A, B);
  for (size_t e = 0; e < want.value.size(); ++e) {
    CHECK(want.value[e] == (mask.keep[e] ? double{B[e]} : -7.0));
    CHECK((want.bound[e] == 0) == (mask.keep[e] == 0));  // a masked element must be exact
  }

  const std::vector<int64_t> rows = {0, 10,
                                     17};  // rows 0 of the first, 1 and 8 of the second matrix
  const Expected some = masked_bmm_reference(p, mask, A, B, rows);
  REQUIRE(some.value.size() == 3 * n);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t j = 0; j < n; ++j) {
      CHECK(some.value[r * n + j] == want.value[rows[r] * n + j]);
      CHECK(some.bound[r * n + j] == want.bound[rows[r] * n + j]);
    }
  }
}

TEST_CASE("skipped blocks, threads and warps of a causal mask are what a drawing shows") {
  // 256×256: the upper right one of 4 blocks is skipped; in each of the two on the diagonal,
  // 15 + 14 + … + 1 = 120 of the 16×16 threads are, and every warp has a thread that works.
  Problem a({3, 256, 256, 1}, make_mask("causal", 3, 256, 256, false, 0));
  Skipped skipped =
      count_skipped(a.p, a.device.block_mask.to_host(), a.device.thread_mask.to_host());
  CHECK(skipped.blocks == 3 * 1);
  CHECK(skipped.blocks_in_all == 3 * 4);
  CHECK(skipped.threads == 3 * 240);
  CHECK(skipped.threads_in_all == 3 * 768);
  CHECK(skipped.warps == 0);
  CHECK(skipped.warps_in_all == 3 * 24);

  // The last row alone is kept: 7 of the block's 8 warps skip, and half of the last warp.
  Problem b({2, 128, 128, 1},
            mask_where(2, 128, 128, [](int64_t, int64_t i, int64_t) { return i == 127; }));
  skipped = count_skipped(b.p, b.device.block_mask.to_host(), b.device.thread_mask.to_host());
  CHECK(skipped.blocks == 0);
  CHECK(skipped.warps == 2 * 7);
  CHECK(skipped.threads == 2 * 240);
}

}  // namespace
}  // namespace tutorial::masked_bmm
