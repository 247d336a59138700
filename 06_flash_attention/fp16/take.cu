// The main() of ./learn take 06/fp16 STEP FILE.
// words: B NH T HS, in the simulator 1 2 100 40
#include <exception>

#include "common/take/take.hpp"
#include "fp16/fp16.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 8), NH = size_word(argc, argv, 2, 12),
                T = size_word(argc, argv, 3, 1024), HS = size_word(argc, argv, 4, 64);
  using namespace flash_attention;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = NH, .Tq = T, .Tk = T, .HS = HS};  // causal
  const int64_t count = shape.rows() * HS;
  const Array<__half> q(count, 1), k(count, 2), v(count, 3);  // (B, NH, T, HS)
  Array<__half> out(count);
  Array<float> lse(shape.rows());

  const auto launch = [&] {
    flash_attention::fp16::STEP(shape, q.device, k.device, v.device, out.device, lse.device,
                                nullptr);
  };
  launch();
  // fp16 rounds to 11 bits: each weight, and the result.
  const auto want = [&](int64_t i) {                  // out[row][d], of all heads' rows
    const int64_t row = i / HS, first = row / T * T;  // the head's first row
    const auto score = [&](int64_t key) {
      return sum_of(HS, [&](int64_t d) {
        return q.at(row * HS + d) * k.at((first + key) * HS + d) / std::sqrt(HS);
      });
    };
    const auto value = [&](int64_t key) { return v.at((first + key) * HS + i % HS); };
    return softmax_mean(row - first + 1, score, value, 0x1p-10);
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
