// What is built from a mask on the device: the coarse masks.
#include "checks.hpp"
#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

void check(const Comparison& comparison) {
  if (comparison.ok)
    SUCCEED();
  else
    FAIL_CHECK(comparison.report);
}

/// Builds the coarse masks on the device and compares them with the reference.
void try_coarse_masks(int64_t batch, int64_t M, int64_t N, const Mask& mask, int64_t offset = 0) {
  CAPTURE(batch, M, N, mask.per_batch);
  MaskedBmm p{.batch = batch, .M = M, .N = N};
  DeviceMasks device(p, mask, offset);
  build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
  check(check_coarse_masks(p, mask, device));
  CHECK((device.block_mask.guards_intact() && device.thread_mask.guards_intact()));
}

TEST_CASE("the coarse masks equal the reference at sizes that no tile divides", "[shapes]") {
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
      try_coarse_masks(1, M, N, make_mask(kind, 1, M, N, false, 3));
    }
    try_coarse_masks(3, M, N, patterned(3, M, N), 1);
  }
  try_coarse_masks(2, 0, 5, {{}, true});
  try_coarse_masks(2, 5, 0, {{}, false});
  try_coarse_masks(0, 5, 5, {{}, true});

  // One element decides: the last of a block that is else masked, or else kept, and the last of a
  // ragged edge.
  for (const auto& [i, j] : {std::pair{127, 127}, {0, 128}, {129, 139}, {64, 3}}) {
    try_coarse_masks(1, 130, 140, mask_where(1, 130, 140, [=](int64_t, int64_t row, int64_t col) {
                       return row == i && col == j;
                     }));
    try_coarse_masks(1, 130, 140, mask_where(1, 130, 140, [=](int64_t, int64_t row, int64_t col) {
                       return row != i || col != j;
                     }));
  }
  try_coarse_masks(1, 20, 30, kept_by_other_bytes(20, 30));
}

TEST_CASE("what is built from a mask with more blocks than a small grid has") {
  const SmallGrid grid(3, 2);
  for (const char* kind : {"random:0.5", "blocks:0.5"}) {
    CAPTURE(kind);
    const Mask mask = make_mask(kind, 5, 300, 140, true, 3);
    try_coarse_masks(5, 300, 140, mask);
  }
}

TEST_CASE("what is built from a mask with more rows of blocks than a grid's y has", "[large]") {
  if (!device_has_clock()) SKIP("65536 rows of blocks would take the simulator too long");
  const int64_t M = ROWS_BEYOND_GRID;
  try_coarse_masks(1, M, 1, every_third_row(M));
}

}  // namespace
}  // namespace tutorial::masked_bmm
