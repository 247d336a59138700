// The reference by another way, and its bound: neither too small nor too large.
#include "03_masked_bmm.hpp"
#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::masked_bmm {

TEST_CASE("the reference adds up all products that are kept, with the bound of its derivation",
          "[reference]") {
  const MaskedBmm p = {.batch = 2, .M = 3, .N = 5, .K = 61, .fill = -7};
  const std::vector<float> A = full_mantissas(2 * 3 * 61, 1), B = full_mantissas(2 * 61 * 5, 2);
  Mask mask = {.keep = std::vector<uint8_t>(2 * 3 * 5, 1), .per_batch = true};
  std::vector<Derived> want;
  for (int64_t b = 0; b < 2; ++b) {
    const std::vector<float> a(A.begin() + b * 3 * 61, A.begin() + (b + 1) * 3 * 61),
        of_b(B.begin() + b * 61 * 5, B.begin() + (b + 1) * 61 * 5);
    const auto one = derived_product({3, 5, 61}, a, of_b, gamma_of(61));
    want.insert(want.end(), one.begin(), one.end());
  }
  for (const size_t masked : {0, 7, 22}) {
    mask.keep[masked] = 0;
    want[masked] = {-7, 0, 0};
  }
  check_derived(masked_bmm_reference(p, mask, A, B), want);
}

TEST_CASE("float32 sums keep the bound, and come near to it", "[reference]") {
  const Mask all = {.keep = {1}};
  for (const int64_t K : {1, 20, 300})
    check_bound_is_reached(
        lossy_dots(K), sum_by_fma,
        [&](const Dot& dot) {
          return masked_bmm_reference({.M = 1, .N = 1, .K = K}, all, dot.a, dot.b);
        },
        0.9);
}

}  // namespace tutorial::masked_bmm
