// The reference by another way, and its bound: neither too small nor too large.
#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

TEST_CASE("tensor cores: the reference adds up all products, with the bound of its derivation",
          "[reference]") {
  const std::vector<float> A = full_mantissas(3 * 61, 1), B = full_mantissas(61 * 5, 2);
  // 2u for each of 61 products, and 2·2u for each group of four.
  check_derived(reference(A, B, 5, 61, all_rows(3)),
                derived_product({3, 5, 61}, A, B, gamma_of(2 * 61 + 4 * 16)));
}

// A group's result loses less than a unit where its terms do: 2/3 of the bound.
TEST_CASE("tensor cores: sums that are cut off keep the bound, and come near to it",
          "[reference]") {
  for (const int64_t K : {20, 300})
    check_bound_is_reached(
        lossy_dots_if_cut(K), sum_by_cutting,
        [&](const Dot& dot) { return reference(dot.a, dot.b, 1, K, all_rows(1)); }, 0.55);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
