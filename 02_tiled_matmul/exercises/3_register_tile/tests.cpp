#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {

TEST_CASE("any size") {
  check_product(register_product, GENERATE(from_range(product_shapes(32))),
                {.rows = 32, .cols = 32, .thread_rows = 2, .thread_cols = 2});
}

TEST_CASE("the budget: a float from shared memory serves two products") {
  const int64_t M = 64, N = 96, K = 32;
  const Counts counts = counts_for_budget(register_product, {M, N, K});
  // In bytes: who reads two floats at once is not ahead.
  check_budget("bytes loaded from shared memory", counts.shared_loads.bytes, 4 * M * N * K);
}

}  // namespace tutorial::exercise
