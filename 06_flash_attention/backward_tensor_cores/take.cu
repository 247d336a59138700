// The main() of ./learn take 06/backward_tensor_cores STEP FILE.
// words: B NH T HS, in the simulator 1 2 100 40
#include <exception>

#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 4), NH = size_word(argc, argv, 2, 16),
                T = size_word(argc, argv, 3, 1024), HS = size_word(argc, argv, 4, 128);
  using namespace flash_attention;
  using backward_tensor_cores::bf16;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = NH, .Tq = T, .Tk = T, .HS = HS};  // causal
  const int64_t count = shape.rows() * HS;
  const Array<bf16> q(count, 1), k(count, 2), v(count, 3), dout(count, 4), out(count, 5);
  Array<float> lse(shape.rows());  // any numbers: it asks no more
  for (float& sum : lse.host) sum = 4;
  lse.to_device();
  Array<bf16> dq(count), dk(count), dv(count);
  const backward_tensor_cores::Tensors at = {q.device,   k.device,    v.device,
                                             out.device, dout.device, lse.device,
                                             dq.device,  dk.device,   dv.device};
  const Array<char> scratch(backward_tensor_cores::workspace_bytes(shape));

  const auto launch = [&] {
    backward_tensor_cores::STEP(shape, at, {.memory = scratch.device, .bytes = scratch.size()},
                                nullptr);
  };
  launch();
  const auto dot = [&](const Array<bf16>& x, int64_t i, const Array<bf16>& y, int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < HS; ++d) sum += x.at(i * HS + d) * y.at(j * HS + d);
    return sum;
  };
  const double root = std::sqrt(HS);
  const auto p = [&](int64_t i, int64_t j) { return std::exp(dot(q, i, k, j) / root - 4); };
  const auto ds = [&](int64_t i, int64_t j) {
    return p(i, j) * (dot(dout, i, v, j) - dot(dout, i, out, i)) / root;
  };
  // Σ weight(j)·x[row j][d] over rows j of one head; weights and the sum are rounded to bf16.
  const auto sum = [&](int64_t first, int64_t end, const auto& weight, const Array<bf16>& x,
                       int64_t d) {
    Want all;
    double magnitude = 0;
    for (int64_t j = first; j < end; ++j) {
      const double term = weight(j) * x.at(j * HS + d);
      all.value += term;
      magnitude += std::abs(term);
    }
    all.bound = 0x1.1p-7 * magnitude + 1e-6;
    return all;
  };
  const auto head = [&](int64_t row) { return row / T * T; };  // its first row
  const auto dq_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        head(r), r + 1, [&](int64_t j) { return ds(r, j); }, k, i % HS);
  };
  const auto dk_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        r, head(r) + T, [&](int64_t j) { return ds(j, r); }, q, i % HS);
  };
  const auto dv_of = [&](int64_t i) {
    const int64_t r = i / HS;
    return sum(
        r, head(r) + T, [&](int64_t j) { return p(j, r); }, dout, i % HS);
  };
  if (!is_right(dq, dq_of) || !is_right(dk, dk_of) || !is_right(dv, dv_of)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
