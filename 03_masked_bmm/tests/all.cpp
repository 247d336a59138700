#include <algorithm>
#include <bit>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>

#include "03_masked_bmm.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/error.hpp"
#include "common/testing/testing.hpp"

using namespace tutorial;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

/// A problem on host and device. The coarse masks come from the reference, so that a test of a
/// product does not depend on build_coarse_masks(), which has its own tests.
struct Problem {
  MaskedBmm p;
  Mask mask;
  std::vector<float> A, B;
  DeviceBuffer<float> device_A, device_B;
  DeviceBuffer<uint8_t> device_mask;
  DeviceBuffer<Kept> block_mask, thread_mask;
  DeviceBuffer<uint64_t> words;
  DeviceBuffer<BlockPlace> list;

  /// `offset` moves A, B (by floats) and the mask (by bytes) off their alignment.
  Problem(int64_t batch, int64_t M, int64_t N, int64_t K, Mask the_mask, float fill = -INF,
          int64_t offset = 0)
      : mask(std::move(the_mask)),
        A(make_values({batch, M, K}, Init::normal, 1)),
        B(make_values({batch, K, N}, Init::normal, 2)) {
    p.batch = batch;
    p.M = M;
    p.N = N;
    p.K = K;
    p.mask_per_batch = mask.per_batch;
    p.fill = fill;
    device_mask = DeviceBuffer<uint8_t>(mask.keep, offset);
    block_mask = DeviceBuffer<Kept>(coarse_mask_reference(mask, M, N, BLOCK), offset);
    thread_mask = DeviceBuffer<Kept>(coarse_mask_reference(mask, M, N, PATCH), offset);
    p.mask = device_mask.data();
    p.block_mask = block_mask.data();
    p.thread_mask = thread_mask.data();
    words = DeviceBuffer<uint64_t>(mask_words_reference(mask, M, N), offset);
    list = DeviceBuffer<BlockPlace>(block_list_reference(mask, M, N), offset);
    p.mask_words = words.data();
    p.block_list = list.data();
    upload(offset);
  }
  /// After a change of A or B.
  void upload(int64_t offset = 0) {
    device_A = DeviceBuffer<float>(A, offset);
    device_B = DeviceBuffer<float>(B, offset);
  }

  void check(const Step<Launcher>& step, int64_t offset = 0) {
    const Layout layout{.batch = p.batch, .rows = p.M, .cols = p.N, .tile = step.tile};
    check_launch([&](float* C) { step.launch(p, device_A.data(), device_B.data(), C); },
                 masked_bmm_reference(p, mask, A, B), layout, offset);
  }
};

/// One section for each step that can run here.
void for_each_step(const std::function<void(const Step<Launcher>&)>& body) {
  for (const auto& step : steps) {
    DYNAMIC_SECTION(step.name) {
      runnable(step);
      body(step);
    }
  }
}

const Step<Launcher>& step_named(const std::vector<Step<Launcher>>& list, const std::string& name) {
  return *std::ranges::find_if(list, [&](const auto& step) { return step.name == name; });
}

/// (batch or 1) × M × N from a rule.
Mask mask_where(int64_t masks, int64_t M, int64_t N,
                const std::function<bool(int64_t, int64_t, int64_t)>& keep) {
  Mask mask{{}, masks > 1};
  for (int64_t m = 0; m < masks; ++m)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) mask.keep.push_back(keep(m, i, j));
  return mask;
}

/// 8×8 patches that keep nothing, everything, one corner, or all but one element.
Mask patterned(int64_t masks, int64_t M, int64_t N) {
  return mask_where(masks, M, N, [](int64_t m, int64_t i, int64_t j) {
    const int64_t pattern = (m + i / 8 * 3 + j / 8) % 7, place = i % 8 * 8 + j % 8;
    switch (pattern) {
      case 0:
        return false;
      case 1:
        return true;
      case 2:
        return place == 0;
      case 3:
        return place == 63;
      case 4:
        return place != 0;
      case 5:
        return place != 63;
      default:
        return i % 8 < 3;
    }
  });
}

/// Compares a coarse mask with the reference, entry by entry: 0 is none, 1 some, 2 all.
void check_entries(const DeviceBuffer<Kept>& device_mask, const std::vector<Kept>& want,
                   const Layout& layout) {
  const auto poison = Kept{0xff};  // what device memory holds until something is written
  std::vector<float> got;
  for (const Kept kept : device_mask.to_host())
    got.push_back(kept == poison ? std::bit_cast<float>(~0u) : static_cast<float>(kept));
  Expected expected;
  for (const Kept kept : want) expected.value.push_back(static_cast<double>(kept));
  expected.bound.resize(want.size());  // exact
  const Comparison comparison = compare(got, expected, layout);
  if (comparison.ok)
    SUCCEED();
  else
    FAIL_CHECK(comparison.report);
  CHECK(device_mask.guards_intact());
}

/// A problem for the kernels that build something from the mask.
MaskedBmm masks_only(int64_t batch, int64_t M, int64_t N, const DeviceBuffer<uint8_t>& keep,
                     bool per_batch) {
  return {.batch = batch, .M = M, .N = N, .mask = keep.data(), .mask_per_batch = per_batch};
}

/// Builds the coarse masks on the device and compares them with the reference.
void check_coarse_masks(int64_t batch, int64_t M, int64_t N, const Mask& mask, int64_t offset = 0) {
  CAPTURE(batch, M, N, mask.per_batch);
  const DeviceBuffer<uint8_t> device_mask(mask.keep, offset);
  const MaskedBmm p = masks_only(batch, M, N, device_mask, mask.per_batch);
  const auto blocks = coarse_mask_reference(mask, M, N, BLOCK);
  const auto threads = coarse_mask_reference(mask, M, N, PATCH);
  DeviceBuffer<Kept> block_mask(blocks.size(), offset), thread_mask(threads.size(), offset);
  build_coarse_masks(p, block_mask.data(), thread_mask.data());
  const int side = BLOCK / PATCH;  // a block of threads writes 1 entry, and side × side
  check_entries(block_mask, blocks,
                {.name = "block_mask",
                 .batch = p.masks(),
                 .rows = ceil_div(M, BLOCK),
                 .cols = ceil_div(N, BLOCK),
                 .tile = {1, 1}});
  check_entries(thread_mask, threads,
                {.name = "thread_mask",
                 .batch = p.masks(),
                 .rows = ceil_div(M, PATCH),
                 .cols = ceil_div(N, PATCH),
                 .tile = {side, side}});
}

std::string drawn(const Mask& mask, int64_t N) {
  std::string text;
  for (size_t e = 0; e < mask.keep.size(); ++e) {
    text += mask.keep[e] ? '1' : '0';
    if ((e + 1) % N == 0) text += ' ';
  }
  return text;
}

}  // namespace

// ---- the masks and the reference

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

TEST_CASE("a mask from a file, and masks that are refused") {
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
  Problem a(3, 256, 256, 1, make_mask("causal", 3, 256, 256, false, 0));
  Skipped skipped = count_skipped(a.p, a.block_mask.to_host(), a.thread_mask.to_host());
  CHECK(skipped.blocks == 3 * 1);
  CHECK(skipped.blocks_in_all == 3 * 4);
  CHECK(skipped.threads == 3 * 240);
  CHECK(skipped.threads_in_all == 3 * 768);
  CHECK(skipped.warps == 0);
  CHECK(skipped.warps_in_all == 3 * 24);

  // The last row alone is kept: 7 of the block's 8 warps skip, and half of the last warp.
  Problem b(2, 128, 128, 1,
            mask_where(2, 128, 128, [](int64_t, int64_t i, int64_t) { return i == 127; }));
  skipped = count_skipped(b.p, b.block_mask.to_host(), b.thread_mask.to_host());
  CHECK(skipped.blocks == 0);
  CHECK(skipped.warps == 2 * 7);
  CHECK(skipped.threads == 2 * 240);
}

// ---- the coarse masks alone

TEST_CASE("the coarse masks equal the reference at sizes that no tile divides") {
  for (const auto& [M, N] : {std::pair{128, 128},
                             {1, 1},
                             {8, 8},
                             {7, 9},
                             {1, 300},
                             {300, 1},
                             {129, 127},
                             {130, 261},
                             {256, 120}}) {
    for (const char* kind : {"none", "causal", "random:0.02", "random:0.98", "blocks:0.5"}) {
      CAPTURE(kind);
      check_coarse_masks(1, M, N, make_mask(kind, 1, M, N, false, 3));
    }
    check_coarse_masks(3, M, N, patterned(3, M, N), 1);
  }
  check_coarse_masks(2, 0, 5, {{}, true});
  check_coarse_masks(2, 5, 0, {{}, false});
  check_coarse_masks(0, 5, 5, {{}, true});

  // One element decides: the last of a block that is else masked, or else kept, and the last of a
  // ragged edge.
  for (const auto& [i, j] : {std::pair{127, 127}, {0, 128}, {129, 139}, {64, 3}}) {
    check_coarse_masks(1, 130, 140, mask_where(1, 130, 140, [=](int64_t, int64_t row, int64_t col) {
                         return row == i && col == j;
                       }));
    check_coarse_masks(1, 130, 140, mask_where(1, 130, 140, [=](int64_t, int64_t row, int64_t col) {
                         return row != i || col != j;
                       }));
  }
  // Any nonzero byte keeps.
  Mask bytes = make_mask("random:0.5", 1, 20, 30, false, 4);
  for (size_t e = 0; e < bytes.keep.size(); ++e) bytes.keep[e] *= e % 3 == 0 ? 2 : 255;
  check_coarse_masks(1, 20, 30, bytes);
}

// ---- the mask in words

namespace {

/// Builds words, states and list on the device and compares them with the reference.
void check_mask_words(int64_t batch, int64_t M, int64_t N, const Mask& mask, int64_t offset = 0) {
  CAPTURE(batch, M, N, mask.per_batch);
  const DeviceBuffer<uint8_t> device_mask(mask.keep, offset);
  const MaskedBmm p = masks_only(batch, M, N, device_mask, mask.per_batch);
  const auto want_words = mask_words_reference(mask, M, N);
  const auto want_states = coarse_mask_reference(mask, M, N, BLOCK);
  const auto want_list = block_list_reference(mask, M, N);
  DeviceBuffer<uint64_t> words(want_words.size(), offset);
  DeviceBuffer<Kept> states(want_states.size(), offset);
  DeviceBuffer<BlockPlace> list(want_list.size(), offset);
  build_mask_words(p, words.data(), states.data(), list.data());
  CHECK(words.to_host() == want_words);
  CHECK(states.to_host() == want_states);
  const auto got = list.to_host();
  int64_t wrong = 0;
  for (size_t e = 0; e < want_list.size(); ++e)
    wrong += got[e].mask != want_list[e].mask || got[e].row != want_list[e].row ||
             got[e].col != want_list[e].col || got[e].kept != want_list[e].kept;
  CHECK(wrong == 0);
  CHECK((words.guards_intact() && states.guards_intact() && list.guards_intact()));
}

}  // namespace

TEST_CASE("the mask in words equals the reference at sizes that no tile divides") {
  for (const auto& [M, N] :
       {std::pair{128, 128}, {1, 1}, {7, 9}, {1, 300}, {300, 1}, {129, 127}, {130, 261}}) {
    for (const char* kind : {"none", "causal", "random:0.02", "random:0.98", "blocks:0.5"}) {
      CAPTURE(kind);
      check_mask_words(1, M, N, make_mask(kind, 1, M, N, false, 3));
    }
    check_mask_words(3, M, N, patterned(3, M, N), 1);
  }
  // More blocks than list_blocks has threads, of which half are live.
  check_mask_words(1500, 3, 5, make_mask("blocks:0.5", 1500, 3, 5, true, 3));
  check_mask_words(2, 0, 5, {{}, true});
  check_mask_words(0, 5, 5, {{}, true});
  // Any nonzero byte keeps.
  Mask bytes = make_mask("random:0.5", 1, 20, 30, false, 4);
  for (size_t e = 0; e < bytes.keep.size(); ++e) bytes.keep[e] *= e % 3 == 0 ? 2 : 255;
  check_mask_words(1, 20, 30, bytes);
}

TEST_CASE("a band is the mask of the same name") {
  for (const auto& [M, N] : {std::pair{9, 9}, {4, 9}, {9, 4}, {1, 1}}) {
    for (const char* kind :
         {"none", "causal", "window:1", "window:3", "window:100", "window:9223372036854775807"}) {
      CAPTURE(M, N, kind);
      const Band band = *band_of(kind, M, N);
      CHECK(band.low <= band.high);
      const Mask mask = mask_where(1, M, N, [&](int64_t, int64_t i, int64_t j) {
        return band.low <= j - i && j - i <= band.high;
      });
      CHECK(mask.keep == make_mask(kind, 1, M, N, false, 0).keep);
    }
  }
  CHECK_FALSE(band_of("random:0.5", 9, 9));
  CHECK_FALSE(band_of("mask.npy", 9, 9));
}

// ---- the product

TEST_CASE("closed_form reads no mask, no words and no list") {
  struct Shape {
    int64_t batch, M, N, K;
  };
  for (const Shape& s : {Shape{2, 130, 141, 19},
                         {1, 300, 280, 4},
                         {2, 40, 200, 36},
                         {2, 260, 12, 8},
                         {1, 64, 132, 68},
                         {2, 1, 1, 3}}) {
    for (const char* kind :
         {"none", "causal", "window:1", "window:20", "window:128", "window:9223372036854775807"}) {
      CAPTURE(s.batch, s.M, s.N, s.K, kind);
      for (bool per_batch : {false, true}) {
        Problem problem(s.batch, s.M, s.N, s.K, make_mask(kind, s.batch, s.M, s.N, per_batch, 5));
        problem.p.band = band_of(kind, s.M, s.N);
        problem.p.mask = nullptr;
        problem.p.mask_words = nullptr;
        problem.p.block_list = nullptr;
        problem.check(step_named(steps, "closed_form"));
      }
    }
  }
}

// Copies and stores of 16 bytes or of 4; K that is in shared memory at once (up to 64), or not.
TEST_CASE("every way of overlapped_tiles") {
  for (int64_t K : {1, 4, 30, 32, 36, 64, 65, 68, 96, 97, 132, 160}) {
    for (int64_t N : {132, 133}) {
      CAPTURE(K, N);
      Problem(2, 70, N, K, patterned(2, 70, N)).check(step_named(steps, "overlapped_tiles"));
    }
  }
  const int64_t K = 36, N = 132;  // one of the three off its alignment
  Problem problem(1, 70, N, K, patterned(1, 70, N));
  problem.device_A = DeviceBuffer<float>(problem.A, 1);
  problem.check(step_named(steps, "overlapped_tiles"));
  problem.upload();
  problem.device_B = DeviceBuffer<float>(problem.B, 2);
  problem.check(step_named(steps, "overlapped_tiles"));
  problem.upload();
  problem.check(step_named(steps, "overlapped_tiles"), 3);
}

TEST_CASE("every mask at every kind of shape") {
  for_each_step([](const Step<Launcher>& step) {
    struct Shape {
      int64_t batch, M, N, K;
    };
    for (const Shape& s : {Shape{1, 128, 128, 8},
                           {2, 130, 141, 19},
                           {2, 1, 130, 7},
                           {2, 130, 1, 7},
                           {1, 40, 50, 3},
                           {3, 72, 136, 29}}) {
      CAPTURE(s.batch, s.M, s.N, s.K);
      for (const char* kind : {"none", "causal", "window:20", "random:0.5", "blocks:0.5"}) {
        CAPTURE(kind);
        Problem(s.batch, s.M, s.N, s.K, make_mask(kind, s.batch, s.M, s.N, false, 5)).check(step);
      }
      Problem(s.batch, s.M, s.N, s.K, patterned(s.batch, s.M, s.N)).check(step);
    }
  });
}

TEST_CASE("a mask of its own for each batch") {
  for_each_step([](const Step<Launcher>& step) {
    Problem(3, 33, 29, 6, make_mask("random:0.5", 3, 33, 29, true, 6)).check(step);
    Problem(4, 20, 140, 5, make_mask("blocks:0.5", 4, 20, 140, true, 1)).check(step);
    Problem(2, 150, 400, 3, make_mask("blocks:0.5", 2, 150, 400, true, 1)).check(step);
  });
}

TEST_CASE("any nonzero byte of the mask keeps") {
  for_each_step([](const Step<Launcher>& step) {
    Mask mask = make_mask("random:0.5", 1, 20, 30, false, 4);
    for (size_t e = 0; e < mask.keep.size(); ++e) mask.keep[e] *= e % 3 == 0 ? 2 : 255;
    Problem(2, 20, 30, 4, mask).check(step);
  });
}

TEST_CASE("fill values: infinite, finite, zero and NaN") {
  for_each_step([](const Step<Launcher>& step) {
    for (float fill : {-INF, INF, -1e4f, -1e9f, 0.0f, NOT_A_NUMBER}) {
      CAPTURE(fill);
      Problem(2, 17, 140, 4, patterned(1, 17, 140), fill).check(step);
    }
  });
}

TEST_CASE("rows, blocks and whole problems that are masked") {
  for_each_step([](const Step<Launcher>& step) {
    Problem(2, 140, 136, 5, make_mask("random:0", 2, 140, 136, false, 0)).check(step);
    Problem(1, 200, 40, 5, make_mask("causal", 1, 200, 40, false, 0)).check(step);
    Problem(1, 20, 150, 5,
            mask_where(1, 20, 150,
                       [](int64_t, int64_t i, int64_t j) { return i % 3 == 1 && j >= 128; }))
        .check(step);
    Problem(2, 20, 30, 5, mask_where(2, 20, 30, [](int64_t m, int64_t, int64_t) { return m == 1; }))
        .check(step);
  });
}

TEST_CASE("what the mask hides does not leak: NaN and infinity in hidden rows and columns") {
  const int64_t M = 140, N = 150, K = 9;
  const Mask corner = mask_where(
      1, M, N, [](int64_t, int64_t i, int64_t j) { return i < 100 && j < 90 && (i + j) % 5 != 0; });
  for_each_step([&](const Step<Launcher>& step) {
    for (float poison : {NOT_A_NUMBER, INF}) {
      Problem problem(2, M, N, K, corner);
      for (int64_t row = 0; row < 2 * M; ++row)
        if (row % M >= 100) std::fill_n(problem.A.begin() + row * K, K, poison);
      for (int64_t e = 0; e < 2 * K * N; ++e)
        if (e % N >= 90) problem.B[e] = poison;
      problem.upload();
      problem.check(step);
    }
  });
}

TEST_CASE("NaN and infinity where the mask keeps reach the result") {
  for_each_step([](const Step<Launcher>& step) {
    Problem problem(1, 20, 20, 9, make_mask("causal", 1, 20, 20, false, 0));
    problem.A[12 * 9 + 3] = NOT_A_NUMBER;
    problem.A[14 * 9 + 8] = INF;
    problem.upload();
    problem.check(step);
  });
}

TEST_CASE("three_level_mask does not do the work that the coarse masks save") {
  const auto work_of = [](Problem& problem) {
    DeviceBuffer<float> C(problem.p.batch * problem.p.M * problem.p.N);
    return counts_of([&] {
      three_level_mask(problem.p, problem.device_A.data(), problem.device_B.data(), C.data());
    });
  };
  if (device_has_clock()) SKIP("only the simulator counts loads");

  Problem none(2, 128, 256, 16, make_mask("random:0", 2, 128, 256, false, 0));
  Counts work = work_of(none);
  CHECK(work.loads.bytes <= 4 * 256);  // 4 blocks of 256 threads, a byte of block mask each
  CHECK(work.shared_loads.lanes == 0);
  CHECK(work.barriers == 0);

  // One thread works, of the 256 that load: 8 + 8 floats for each k.
  Problem one(1, 128, 256, 16, mask_where(1, 128, 256, [](int64_t, int64_t i, int64_t j) {
                return i / 8 == 3 && j / 8 == 5;
              }));
  work = work_of(one);
  CHECK(work.shared_loads.lanes == 16 * 16);
  CHECK(work.shared_stores.lanes == 16 * 256);
}

TEST_CASE("no alignment but a float's is needed") {
  for_each_step([](const Step<Launcher>& step) {
    for (int64_t offset : {1, 2, 3}) {
      CAPTURE(offset);
      Problem(2, 12, 132, 8, patterned(2, 12, 132), -INF, offset).check(step, offset);
      Problem(2, 12, 132, 8, patterned(2, 12, 132), -INF, 0).check(step, offset);
    }
  });
}

TEST_CASE("sizes of zero") {
  for_each_step([](const Step<Launcher>& step) {
    Problem(0, 5, 6, 7, {{}, true}).check(step);
    Problem(0, 5, 6, 7, make_mask("causal", 0, 5, 6, false, 0)).check(step);
    Problem(2, 0, 6, 7, {{}, false}).check(step);
    Problem(2, 5, 0, 7, {{}, false}).check(step);
    Problem(2, 5, 140, 0, patterned(2, 5, 140)).check(step);  // 0 where kept
  });
}

// K = 0: the simulator would spend half a minute on the barriers of so many blocks.
TEST_CASE("more matrices than a grid's z has blocks", "[large]") {
  const int64_t batch = 65'537, K = device_has_clock() ? 3 : 0;
  const Mask mask = make_mask("random:0.5", batch, 1, 2, true, 8);
  for_each_step([&](const Step<Launcher>& step) {
    if (step.launch == closed_form) return;  // without a band it is overlapped_tiles
    Problem(batch, 1, 2, K, mask).check(step);
  });
}

TEST_CASE("more matrices than a grid's y has blocks, and one mask for all", "[large]") {
  if (!device_has_clock()) SKIP("131074 blocks would take the simulator too long");
  const int64_t batch = 65'537, K = 3;
  for (const char* name : {"mask_words", "overlapped_tiles"}) {
    CAPTURE(name);
    Problem(batch, 1, 2, K, make_mask("random:0.5", 1, 1, 2, false, 8))
        .check(step_named(steps, name));
  }
  Problem problem(batch, 1, 257, K, make_mask("window:1", 1, 1, 257, false, 8));
  problem.p.band = band_of("window:1", 1, 257);
  problem.check(step_named(steps, "closed_form"));
}

TEST_CASE("more rows of blocks than a grid's y has", "[large]") {
  const int64_t M = 65'535 * 128 + 1;
  const Mask mask = mask_where(1, M, 1, [](int64_t, int64_t i, int64_t) { return i % 3 == 0; });
  SECTION("coarse_masks") {
    check_coarse_masks(1, M, 1, mask);
  }
  SECTION("build_mask_words") {
    if (!device_has_clock()) SKIP("the simulator would take minutes");
    check_mask_words(1, M, 1, mask);
  }
  if (!device_has_clock()) SKIP("65536 blocks of each step would take the simulator too long");
  for_each_step([&](const Step<Launcher>& step) {
    if (step.launch == closed_form) return;  // without a band it is overlapped_tiles
    Problem(1, M, 1, 3, mask).check(step);
  });
}
