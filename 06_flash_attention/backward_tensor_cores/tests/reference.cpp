// The bound of the reference in bf16: what its comment counts, and no more.
#include <cmath>

#include "problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

// All weights are exp(0 - 0) = 1, and dv is a sum of n numbers of 1. Each weight is rounded to
// bf16, each product's addition is cut off twice 2^-23, and dv is rounded at the end.
TEST_CASE("backward_tensor_cores: the bound counts bf16's roundings and the cuts", "[reference]") {
  for (const int64_t n : {1, 4096}) {
    CAPTURE(n);
    const std::vector<float> zeros(n * 8), ones(n * 8, 1.0f), key(8, 1.0f), lse(n);
    const std::vector<int64_t> rows = {0};
    const Expected dv = backward::reference({.Tq = n, .Tk = 1, .HS = 8, .causal = false},
                                            {zeros, key, key, ones, ones, lse}, rows, rows,
                                            backward::Precision::bf16)
                            .dv;
    const auto count = static_cast<double>(n);
    const double before = count * (0x1p-8 + 2 * (count + 2) * 0x1p-23);
    const double bound = before + 0x1p-8 * (count + before);
    CHECK(dv.value[0] == count);
    CHECK(dv.bound[0] > 0.99 * bound);
    CHECK(dv.bound[0] < 1.02 * bound);
  }
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
