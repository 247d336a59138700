// What is built from a mask on the device: the words and the list.
#include "block_lists/tests/problem.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

/// Builds them on the device and compares them with the reference.
void try_mask_words(int64_t batch, int64_t M, int64_t N, const Mask& mask, int64_t offset = 0) {
  CAPTURE(batch, M, N, mask.per_batch);
  ListedBmm p;
  p.batch = batch, p.M = M, p.N = N;
  DeviceLists device(p, mask, offset);
  build_mask_words(p, device.words.data(), device.states.data(), device.list.data());
  const Comparison comparison = check_lists(p, mask, device);
  INFO(comparison.report);
  CHECK(comparison.ok);
  CHECK((device.words.guards_intact() && device.states.guards_intact() &&
         device.list.guards_intact()));
}

TEST_CASE("the mask in words equals the reference at sizes that no tile divides", "[shapes]") {
  for (const auto& [M, N] :
       {std::pair{128, 128}, {1, 1}, {7, 9}, {1, 300}, {300, 1}, {129, 127}, {130, 261}}) {
    for (const char* kind : {"none", "causal", "random:0.02", "random:0.98", "blocks:0.5"}) {
      CAPTURE(kind);
      try_mask_words(1, M, N, make_mask(kind, 1, M, N, false, 3));
    }
    try_mask_words(3, M, N, patterned(3, M, N), 1);
  }
  // More blocks than list_blocks has threads, of which half are live.
  try_mask_words(1500, 3, 5, make_mask("blocks:0.5", 1500, 3, 5, true, 3));
  try_mask_words(2, 0, 5, {{}, true});
  try_mask_words(0, 5, 5, {{}, true});
  try_mask_words(1, 20, 30, kept_by_other_bytes(20, 30));
}

TEST_CASE("words and list of a mask with more blocks than a small grid has") {
  const SmallGrid grid(3, 2);
  for (const char* kind : {"random:0.5", "blocks:0.5"}) {
    CAPTURE(kind);
    try_mask_words(5, 300, 140, make_mask(kind, 5, 300, 140, true, 3));
  }
}

TEST_CASE("words and list of a mask with more rows of blocks than a grid's y has", "[large]") {
  if (!device_has_clock()) SKIP("65536 rows of blocks would take the simulator too long");
  const int64_t M = ROWS_BEYOND_GRID;
  try_mask_words(1, M, 1, every_third_row(M));
}

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
