// Which masks are bands.
#include "block_lists/tests/problem.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

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

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
