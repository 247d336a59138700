// The reference by another way, for bf16 and for fp16, and its bounds: neither too small nor too
// large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr Long U = 0x1p-24L, CUT = 0x1p-23L, SMALLEST = 0x1p-126L;

/// What a type of 16 bits rounds: this part of a number, or half of its smallest.
struct Narrow {
  Long unit, half_smallest, lost_weight;
  Reference (*reference)(const Attention&, std::span<const float>, std::span<const float>,
                         std::span<const float>, std::span<const int64_t>);
  float (*rounded)(float);
};
const Narrow BF16 = {0x1p-8L, 0x1p-134L, 0, reference_bf16,
                     [](float x) { return static_cast<float>(bf16(x)); }};
const Narrow FP16 = {0x1p-11L, 0x1p-25L, 0x1p-25L, reference_fp16,
                     [](float x) { return static_cast<float>(__half(x)); }};

Reference reference_of(const Narrow& type, const Problem& p) {
  return type.reference(p.shape, p.q, p.k, p.v, all_rows(p.shape.rows()));
}

struct Score {
  Long value, error;
};

/// What reference.cpp says of a query.
void derive_row(const Narrow& type, const std::vector<Score>& scores, const float* v, int64_t HS,
                std::vector<Derived>& out, std::vector<Derived>& lse) {
  const Long n = scores.size();
  Long m = scores[0].value, largest = 0, most = 0;
  for (const Score& s : scores) {
    m = std::max(m, s.value);
    largest = std::max(largest, std::abs(s.value));
    most = std::max(most, s.error);
  }
  Long l = 0, lowered = 0, raised = 0, of_exps = 0;
  for (const Score& s : scores) l += std::exp(s.value - m);
  for (const Score& s : scores) {
    const Long p = std::exp(s.value - m) / l;
    lowered += p * std::exp(-s.error);
    raised += p * std::exp(s.error);
    of_exps += p * (4 + 4 * (m - s.value)) * U;
  }
  const Long rescaling = gamma_of(5 * std::ceil(n / 64)), cutting = gamma_of(2 * n, CUT),
             of_sum = of_exps + gamma_of(n) + rescaling, little = (n + 16 + 4 * largest) * 0x1p-52L,
             lost = SMALLEST + type.lost_weight / std::max<Long>(1, l * lowered * std::exp(-most));
  for (int64_t d = 0; d < HS; ++d) {
    Derived one = {};
    for (size_t j = 0; j < scores.size(); ++j) {
      const Long p = std::exp(scores[j].value - m) / l, x = v[static_cast<int64_t>(j) * HS + d];
      one.value += p * x;
      one.rounding += std::abs(p * x) * little;
      const Long relative = std::exp(scores[j].error) * (1 + type.unit) / lowered - 1 +
                            (4 + 4 * (m - scores[j].value)) * U + cutting + rescaling + of_sum +
                            4 * U;
      one.bound += std::abs(x) * (p * relative + lost);
    }
    one.bound += type.unit * (std::abs(one.value) + one.bound) + type.half_smallest;
    out.push_back(one);
  }
  const Long value = m + std::log(l);
  lse.push_back(
      {value, (2 + std::abs(value)) * little,
       std::log(raised) + of_sum + n * SMALLEST + 4 * U * (1 + std::log(n) + std::abs(value))});
}

void check_reference(const Narrow& type, const Problem& p) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = p.shape;
  std::vector<Derived> out, lse;
  for (int64_t row = 0; row < p.shape.rows(); ++row) {
    const int64_t kv = row / Tq / NH * NH_kv + row / Tq % NH / (NH / NH_kv);
    std::vector<Score> scores;
    for (int64_t j = 0; j < p.shape.visible_keys(row % Tq); ++j) {
      LongSum sum;
      for (int64_t d = 0; d < HS; ++d) sum.add(p.q[row * HS + d], p.k[(kv * Tk + j) * HS + d]);
      const Long root = std::sqrt(static_cast<Long>(HS));
      scores.push_back({sum.value / root, (gamma_of(2 * HS, CUT) + 4 * U) * sum.magnitude / root});
    }
    derive_row(type, scores, p.v.data() + kv * Tk * HS, HS, out, lse);
  }
  const Reference got = reference_of(type, p);
  check_derived(got.out, out, AS_DERIVED);
  check_derived(got.lse, lse, AS_DERIVED);
}

}  // namespace

TEST_CASE("tensor cores: the reference is exact, with the bounds of its derivation",
          "[reference]") {
  for (const Narrow& type : {BF16, FP16})
    for (const Attention& s : std::vector<Attention>{
             {.Tq = 5, .Tk = 70, .HS = 13},
             {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 20, .HS = 40, .causal = false}})
      for (const float size : {0.5f, 10.0f}) {
        INFO(text(s) << ", queries of size " << size << ", unit " << type.unit);
        Problem p = {s, full_mantissas(s.rows() * s.HS, 1),
                     full_mantissas(s.B * s.NH_kv * s.Tk * s.HS, 2),
                     full_mantissas(s.B * s.NH_kv * s.Tk * s.HS, 3)};
        for (float& x : p.q) x *= size;
        check_reference(type, p);
      }
}

// All weights but the largest are rounded in one direction, by as much as there is, and the largest
// one's value is 0. Then out is rounded.
TEST_CASE("tensor cores: rounded weights keep the bound, and come near to it", "[reference]") {
  for (const Narrow& type : {BF16, FP16}) {
    double most = 0;
    const auto unit = static_cast<double>(type.unit);
    for (const double above : {1.02, 1.2, 1.5})
      for (const float value : full_mantissas(60, 1)) {
        const int64_t n = 40;
        const auto score = static_cast<float>(std::log(0.25 * (1 + unit * above)));
        Problem p = {{.Tq = 1, .Tk = n, .HS = 1, .causal = false},
                     {1},
                     std::vector<float>(n, score),
                     std::vector<float>(n, type.rounded(value))};
        p.k[0] = p.v[0] = 0;
        const float weight = std::exp(score), v = p.v[1];
        const double numerator = (n - 1) * double{type.rounded(weight)} * v,
                     sum = 1 + (n - 1) * double{weight};
        const float out = type.rounded(static_cast<float>(numerator / sum));
        const Expected want = reference_of(type, p).out;
        const double error = std::abs(out - want.value[0]);
        CHECK(error <= want.bound[0]);
        most = std::max(most, error / want.bound[0]);
      }
    CAPTURE(unit, most);
    CHECK(most > 0.7);
  }
}

TEST_CASE("tensor cores: weights that fp16 makes 0 keep the bound, and come near to it",
          "[reference]") {
  const int64_t n = 40;
  Problem p = {{.Tq = 1, .Tk = n, .HS = 1, .causal = false},
               {1},
               std::vector<float>(n, std::log(0x1p-25f * 0.999f)),
               std::vector<float>(n, 1)};
  p.k[0] = p.v[0] = 0;
  const Expected want = reference_of(FP16, p).out;
  CHECK(want.value[0] <= want.bound[0]);
  CHECK(want.value[0] >= 0.9 * want.bound[0]);
}

// The only key's score is lse.
TEST_CASE("tensor cores: scores that are cut off keep the bound of lse, and come near to it",
          "[reference]") {
  for (const int64_t HS : {64, 128, 256})
    check_bound_is_reached(
        lossy_dots_if_cut(HS),
        [&](const Dot& dot) {
          return sum_by_cutting(dot) * 16 / std::sqrt(static_cast<float>(HS));
        },
        [&](const Dot& dot) {
          Problem p = {{.Tq = 1, .Tk = 1, .HS = HS, .causal = false}, dot.a, dot.b, dot.a};
          for (float& x : p.q) x *= 16;
          return reference_of(BF16, p).lse;
        },
        0.3);
}

}  // namespace tutorial::flash_attention::tensor_cores
