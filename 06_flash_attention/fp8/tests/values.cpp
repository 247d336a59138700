// Every step, on scores and values that its likely mistakes do not survive.
#include <array>
#include <cmath>

#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

constexpr unsigned char NOT_A_NUMBER = 0x7f;  // of e4m3

TEST_CASE("fp8 attention: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    const auto make = [&](const Attention& shape) {
      return with_positive_values(with_scores(shape, [&](int64_t) { return shift; }));
    };
    check_both(step, {.Tq = 17, .Tk = 131, .HS = 80}, make);
    check_step(step, make({.Tq = 130, .Tk = 131, .HS = 16, .causal = shift < 0}));
  }
}

// In a tile of 128 keys the maximum moves by 18 in log2, which O follows, or by 3.7 or 1.1, which
// it follows after some tiles or never. The tiles come from the last keys on.
TEST_CASE("fp8 attention: every step rescales when the maximum rises, and when it falls",
          "[values]") {
  const auto step = EACH_STEP(steps);
  for (float slope : {-0.1f, -0.02f, -0.006f, 0.1f})
    check_both(step, {.Tq = slope > 0 ? 130 : 7, .Tk = 520, .HS = slope > 0 ? 48 : 80},
               [&](const Attention& shape) {
                 return with_positive_values(
                     with_scores(shape, [&](int64_t j) { return slope * static_cast<float>(j); }));
               });
}

// A score a segment: those of a tile, and of the keys of a quad's fragment.
TEST_CASE("fp8 attention: every step takes maxima that rise, fall and jump", "[values]") {
  const auto step = EACH_STEP(steps);
  constexpr std::array<float, 3> LEVELS = {0, 30, -40};
  for (const int64_t width : {128, 8, 63})
    for (int order = 0; order < 6; ++order) {
      std::array<float, 3> of_segment = LEVELS;
      for (int i = 0; i < order; ++i) std::ranges::next_permutation(of_segment, std::greater());
      INFO("segments of " << width << " keys, order " << order);
      check_step(step, with_positive_values(with_scores(
                           {.Tq = 5, .Tk = 3 * width, .HS = 16, .causal = order % 2 == 0},
                           [&](int64_t j) { return of_segment[j / width]; })));
    }
}

// Most weights of a row are 2^-10 of the largest one, which e4m3 holds only if that is much more
// than 1, or 2^-17, which count in lse alone.
TEST_CASE("fp8 attention: every step adds up weights that are small beside others", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const float most : {7.2f, 12.0f})
    check_both(step, {.Tq = 129, .Tk = 300, .HS = 32}, [&](const Attention& shape) {
      Problem p = with_positive_values(
          with_scores(shape, [&](int64_t j) { return j % 300 == 250 ? most : 0.0f; }));
      for (size_t i = 0; i < p.k.size(); ++i)
        if (i % 32 != 0) p.k[i] *= 0.1f;
      return p;
    });
}

// Each head has other scales: none may be taken for another.
TEST_CASE("fp8 attention: every step multiplies by its heads' scales", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const int64_t HS : {32, 96}) {
    Problem p = with_positive_values(normal_problem(
        {.B = 2, .NH = 4, .NH_kv = 2, .Tq = HS == 32 ? 129 : 30, .Tk = 50, .HS = HS}));
    const auto scale_heads = [&](std::vector<float>& x, int64_t heads, double step_by) {
      const auto of_head = static_cast<int64_t>(x.size()) / heads;
      for (size_t i = 0; i < x.size(); ++i)
        x[i] *= static_cast<float>(std::exp2(step_by * static_cast<double>(i / of_head)));
    };
    scale_heads(p.q, 8, 0.3);
    scale_heads(p.k, 4, -0.4);
    scale_heads(p.v, 4, 3);
    check_step(step, p);
  }
}

TEST_CASE("fp8 attention: a NaN goes to its queries, and to no others", "[values]") {
  const auto step = EACH_STEP(steps);
  const auto spoil = [](Rounded& tensor, int64_t element) {
    CUDA_CHECK(cudaMemset(tensor.values.data() + element, NOT_A_NUMBER, 1));
  };
  for (const int64_t HS : {16, 96}) {
    const Problem problem = normal_problem({.Tq = 130, .Tk = 130, .HS = HS});
    check_step(step, problem, {}, [&](Operands& in) { spoil(in.q, 3 * HS + 1); });   // query 3
    check_step(step, problem, {}, [&](Operands& in) { spoil(in.k, 30 * HS + 2); });  // from 30 on
  }
}

// With random signs a bound on the sum of all roundings is larger than out. But they cancel each
// other, too: as root of the mean square out is off by as much of itself as a weight is. Over all
// numbers between two powers of 2 that is 2.6 %; a fortieth, and 3 % besides for what is summed in
// 14 bits.
TEST_CASE("fp8 attention: out is off by what rounding a weight costs, and no more", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape : {Attention{.Tq = 130, .Tk = 900, .HS = 64, .causal = false},
                                 Attention{.Tq = 130, .Tk = 900, .HS = 128, .causal = false}}) {
    if (!is_in_sample(step.name) || is_handed_on(step, shape)) continue;
    const Problem p = normal_problem(shape);
    const Operands in(shape, p.q, p.k, p.v);
    DeviceBuffer<bf16> out(shape.rows() * shape.HS);
    DeviceBuffer<float> lse(shape.rows());
    DeviceBuffer<std::byte> memory(workspace_bytes(shape));
    step.launch(shape, in.q.values.data(), in.k.values.data(), in.v.values.data(), in.on_device(),
                out.data(), lse.data(), workspace_in(memory), nullptr);
    const Reference want = reference(shape, in.q.to_host(), in.k.to_host(), in.v.to_host(),
                                     all_rows(shape.rows()), tile_sizes(step.launch, shape).keys);
    const std::vector<float> got = widened<bf16>(out.to_host());
    double squares = 0, all = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      squares += std::pow(got[i] - want.out.value[i], 2);
      all += std::pow(want.out.value[i], 2);
    }
    CAPTURE(step.name, text(shape));
    CHECK(std::sqrt(squares / all) > 0.015);
    CHECK(std::sqrt(squares / all) < 0.03);
  }
}

TEST_CASE("fp8 attention: rounding divides each head by its largest number") {
  runnable(steps);  // ends the test where none can run
  const int64_t heads = 3, T = 70, HS = 48;
  std::vector<float> X = make_values({heads, T, HS}, Init::normal, 3);
  for (int64_t i = 0; i < T * HS; ++i) X[i] *= 1000, X[2 * T * HS + i] = 0;
  const Operand got = Rounded(X, heads, T, HS).to_host();
  for (int64_t head = 0; head < heads; ++head) {
    const float* const x = X.data() + head * T * HS;
    float most = 0;
    for (int64_t i = 0; i < T * HS; ++i) most = std::max(most, std::abs(x[i]));
    const float scale = got.scales[head];
    CHECK(scale == (most == 0 ? 1 : most / 448));
    int wrong = 0;
    for (int64_t i = 0; i < T * HS; ++i) {
      // Half of the distance to the next number: 2^-4 of it, or of 2^-6 below that.
      const float exact = x[i] / scale, bound = std::max(std::abs(exact), 0x1p-6f) * 0x1p-4f;
      wrong += !(std::abs(got.values[head * T * HS + i] - exact) <= bound);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
