// The main() of ./learn take 06/fp8 STEP FILE.
// words: B NH T HS, in the simulator 1 2 100 48
#include <exception>

#include "common/take/take.hpp"
#include "fp8/fp8.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 8), NH = size_word(argc, argv, 2, 12),
                T = size_word(argc, argv, 3, 1024), HS = size_word(argc, argv, 4, 64);
  using namespace flash_attention;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = NH, .Tq = T, .Tk = T, .HS = HS};  // causal
  const int64_t count = shape.rows() * HS;
  // Numbers that are e4m3's already, and scales of 1.
  const Array<fp8::e4m3> q(count, 1), k(count, 2), v(count, 3);  // (B, NH, T, HS)
  Array<float> ones(B * NH);
  std::fill(ones.host.begin(), ones.host.end(), 1.0f);
  ones.to_device();
  Array<__nv_bfloat16> out(count);
  Array<float> lse(shape.rows());
  const Array<char> scratch(fp8::workspace_bytes(shape));

  const auto launch = [&] {
    fp8::STEP(shape, q.device, k.device, v.device, {ones.device, ones.device, ones.device},
              out.device, lse.device, {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  // A weight is rounded to 4 bits, the result to 8, and tensor cores keep 14 bits of a sum.
  const double cut = 0x1.1p-13;                       // a number: 34 times 2^-13 for 32 of them
  const auto want = [&](int64_t i) {                  // out[row][d], of all heads' rows
    const int64_t row = i / HS, first = row / T * T;  // the head's first row
    const auto score = [&](int64_t key) {
      return sum_of(
          HS,
          [&](int64_t d) {
            return q.at(row * HS + d) * k.at((first + key) * HS + d) / std::sqrt(HS);
          },
          cut);
    };
    const auto value = [&](int64_t key) { return v.at((first + key) * HS + i % HS); };
    const int64_t keys = row - first + 1;
    return softmax_mean(keys, score, value, 0x1p-4 + 0x1p-8 + static_cast<double>(keys) * cut);
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
