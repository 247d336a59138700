// The reference itself. Its values are the chapter's; what is its own is the bound.
#include <algorithm>
#include <cmath>

#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

TEST_CASE("tensor cores: the reference has the chapter's values, and bounds of bf16") {
  for (Attention shape :
       std::vector<Attention>{{.B = 2, .NH = 4, .NH_kv = 2, .Tq = 7, .Tk = 5, .HS = 24},
                              {.Tq = 100, .Tk = 100, .HS = 64, .causal = false},
                              {.Tq = 3, .Tk = 0, .HS = 8}}) {
    const Problem problem = in_bf16(normal_problem(shape));
    const Reference got = reference_of(problem), want = flash_attention::reference(problem);
    CHECK(got.out.value == want.out.value);
    CHECK(got.lse.value == want.lse.value);
    for (size_t i = 0; i < got.out.value.size(); ++i) {
      CHECK(got.out.bound[i] >= want.out.bound[i]);
      // Of out 2^-8, and as much of Σ p·|v|: no more than the largest |v|, here less than 4.
      CHECK(got.out.bound[i] <= 0x1p-8 * (std::abs(got.out.value[i]) + 4));
    }
    for (double bound : got.lse.bound) CHECK(bound < 4e-4);
  }
}

// A sum of the weights after they were rounded gives nearly the same out, and another lse.
TEST_CASE("tensor cores: the bound of lse is too small for the sum of the rounded weights") {
  const Attention shape = {.Tq = 50, .Tk = 4, .HS = 16, .causal = false};
  const Problem problem = in_bf16(normal_problem(shape));
  const Reference want = reference_of(problem);
  int64_t outside = 0;
  for (int64_t i = 0; i < shape.Tq; ++i) {
    std::vector<double> scores(4);
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t d = 0; d < 16; ++d)
        scores[j] += static_cast<double>(problem.q[i * 16 + d]) * problem.k[j * 16 + d] / 4;
    const double m = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (double s : scores) sum += static_cast<float>(bf16(static_cast<float>(std::exp(s - m))));
    outside += std::abs(m + std::log(sum) - want.lse.value[i]) > want.lse.bound[i];
  }
  CHECK(outside > 25);
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
