// The main() of ./learn take 06/backward STEP FILE.
// words: B NH T HS, in the simulator 1 2 100 40
#include <exception>

#include "backward/backward.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 2), NH = size_word(argc, argv, 2, 12),
                T = size_word(argc, argv, 3, 1024), HS = size_word(argc, argv, 4, 64);
  using namespace flash_attention;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = NH, .Tq = T, .Tk = T, .HS = HS};  // causal
  const int64_t count = shape.rows() * HS;
  const Array<float> q(count, 1), k(count, 2), v(count, 3), dout(count, 4);
  const Array<float> out(count, 5), lse(shape.rows(), 6);  // any numbers: it asks no more
  Array<float> dq(count), dk(count), dv(count);
  const backward::Tensors at = {q.device,   k.device,  v.device,  out.device, dout.device,
                                lse.device, dq.device, dk.device, dv.device};
  const Array<char> scratch(backward::workspace_bytes(shape, backward::STEP));

  const auto launch = [&] {
    backward::STEP(shape, at, {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  const auto dot = [&](const Array<float>& x, int64_t i, const Array<float>& y, int64_t j) {
    return sum_of(HS, [&](int64_t d) { return x.at(i * HS + d) * y.at(j * HS + d); });
  };
  const double root = std::sqrt(HS);
  const auto p = [&](int64_t i, int64_t j) {  // of rows i of q and j of k
    const Want s = dot(q, i, k, j);
    const double weight = std::exp(s.value / root - lse.at(i));
    return Want{weight, weight * (std::expm1(s.bound / root) + 0x1p-20)};
  };
  const auto ds = [&](int64_t i, int64_t j) {
    const Want weight = p(i, j), with_v = dot(dout, i, v, j), with_out = dot(dout, i, out, i);
    const double apart = with_v.value - with_out.value;
    return Want{weight.value * apart,
                weight.bound * std::abs(apart) +
                    2 * weight.value * (with_v.bound + with_out.bound + 0x1p-23)};
  };
  // Σ weight(j)·x[row j][d] / divisor, over rows j of one head.
  const auto sum = [&](int64_t first, int64_t end, const auto& weight, const Array<float>& x,
                       int64_t d, double divisor) {
    Want all;
    for (int64_t j = first; j < end; ++j) {
      const Want w = weight(j);
      const double number = x.at(j * HS + d) / divisor;
      all.value += w.value * number;
      all.bound += (w.bound + (T + 4) * 0x1p-24 * (std::abs(w.value) + w.bound)) * std::abs(number);
    }
    return all;
  };
  const auto head = [&](int64_t row) { return row / T * T; };  // its first row
  const auto dq_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        head(r), r + 1, [&](int64_t j) { return ds(r, j); }, k, i % HS, root);
  };
  const auto dk_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        r, head(r) + T, [&](int64_t j) { return ds(j, r); }, q, i % HS, root);
  };
  const auto dv_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        r, head(r) + T, [&](int64_t j) { return p(j, r); }, dout, i % HS, 1);
  };
  if (!is_right(dq, dq_of) || !is_right(dk, dk_of) || !is_right(dv, dv_of)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
