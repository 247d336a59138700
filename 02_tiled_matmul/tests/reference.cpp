// The reference by another way, and its bound: neither too small nor too large.
#include "02_tiled_matmul.hpp"
#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul {

TEST_CASE("the reference adds up all products, exactly, with the bound of its derivation",
          "[reference]") {
  const std::vector<float> A = full_mantissas(3 * 61, 1), B = full_mantissas(61 * 5, 2);
  check_derived(reference(A, B, 5, 61, all_rows(3)),
                derived_product({3, 5, 61}, A, B, gamma_of(61)));
}

TEST_CASE("float32 sums keep the bound, and come near to it", "[reference]") {
  for (const int64_t K : {1, 20, 300})
    check_bound_is_reached(
        lossy_dots(K), sum_by_fma,
        [&](const Dot& dot) { return reference(dot.a, dot.b, 1, K, all_rows(1)); }, 0.9);
}

}  // namespace tutorial::tiled_matmul
