// The reference against closed forms.
#include <cmath>

#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

TEST_CASE("the reference splits qkv and puts it together again") {
  // One token a line: q of two heads, k of two heads, v of two heads; HS = 2.
  const Attention a = {.B = 1, .T = 2, .C = 4, .NH = 2};
  const std::vector<float> qkv = arange(24);
  CHECK(permute_reference(a, qkv).value ==
        std::vector<double>{0, 1, 12, 13, 2,  3,  14, 15,    // q: head 0, tokens 0 and 1; head 1
                            4, 5, 16, 17, 6,  7,  18, 19,    // k
                            8, 9, 20, 21, 10, 11, 22, 23});  // v
  const std::vector<float> vaccum = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(unpermute_reference(a, vaccum).value == std::vector<double>{0, 1, 4, 5, 2, 3, 6, 7});
}

TEST_CASE("the reference gives the mean of the values where all scores are equal") {
  Attention a = {.B = 2, .T = 9, .C = 6, .NH = 3};
  a.causal = GENERATE(true, false);
  std::vector<float> qkv = values_for(a);
  for (size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<int64_t>(i) / a.C % 3 == 0) qkv[i] = 0;  // q
  const Expected want = attention_reference(a, qkv, all_rows(a.B * a.T));
  for (int64_t b = 0; b < a.B; ++b)
    for (int64_t t = 0; t < a.T; ++t)
      for (int64_t c = 0; c < a.C; ++c) {
        const int64_t keys = a.causal ? t + 1 : a.T;
        double mean = 0;
        for (int64_t key = 0; key < keys; ++key)
          mean += qkv[((b * a.T + key) * 3 + 2) * a.C + c] / static_cast<double>(keys);
        CHECK(std::abs(want.value[(b * a.T + t) * a.C + c] - mean) < 1e-14);
      }
}

TEST_CASE("the reference gives the value of the key that a query points to") {
  // Tokens are orthogonal and long: token t scores 2500/√6 with itself and 0 with the others.
  const Attention a = {.B = 1, .T = 6, .C = 6, .NH = 1, .causal = false};
  std::vector<float> qkv = values_for(a);
  for (int64_t t = 0; t < a.T; ++t)
    for (int64_t c = 0; c < a.C; ++c)
      qkv[(t * 3 + 0) * a.C + c] = qkv[(t * 3 + 1) * a.C + c] = t == c ? 50.0f : 0.0f;
  const Expected want = attention_reference(a, qkv, all_rows(a.T));
  for (int64_t t = 0; t < a.T; ++t)
    for (int64_t c = 0; c < a.C; ++c)
      CHECK(std::abs(want.value[t * a.C + c] - qkv[(t * 3 + 2) * a.C + c]) < 1e-14);
}

TEST_CASE("the reference divides the scores by the square root of the head size, not a whole one") {
  // HS = 5, one key scores 5 and one 0: weights in the ratio exp(√5) : 1.
  const Attention a = {.B = 1, .T = 2, .C = 5, .NH = 1, .causal = false};
  std::vector<float> qkv(30, 0.0f);
  for (int64_t c = 0; c < 5; ++c) qkv[c] = qkv[5 + c] = 1;  // query 0, key 0
  qkv[10] = 1;                                              // value 0
  const Expected want = attention_reference(a, qkv, all_rows(2));
  CHECK(std::abs(want.value[0] - 1 / (1 + std::exp(-std::sqrt(5.0)))) < 1e-15);
}

TEST_CASE("the reference computes the rows asked for") {
  const Attention a = {.B = 2, .T = 5, .C = 6, .NH = 2};
  const auto qkv = values_for(a);
  const Expected all = attention_reference(a, qkv, all_rows(10));
  const Expected one = attention_reference(a, qkv, std::vector<int64_t>{7});
  for (int64_t c = 0; c < a.C; ++c) CHECK(one.value[c] == all.value[7 * a.C + c]);
}

}  // namespace
}  // namespace tutorial::unfused_attention
