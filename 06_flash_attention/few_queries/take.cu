// The main() of ./learn take 06/few_queries STEP FILE.
// words: B NH T HS, in the simulator 1 4 300 40
#include <exception>

#include "common/take/take.hpp"
#include "few_queries/few_queries.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 64), NH = size_word(argc, argv, 2, 4),
                T = size_word(argc, argv, 3, 4096), HS = size_word(argc, argv, 4, 128);
  using namespace flash_attention;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = 1, .Tq = 1, .Tk = T, .HS = HS};
  const int64_t count = shape.rows() * HS, keys = B * T * HS;
  const Array<__nv_bfloat16> q(count, 1), k(keys, 2), v(keys, 3);  // (B, NH, 1, HS), (B, 1, T, HS)
  Array<__nv_bfloat16> out(count);
  Array<float> lse(shape.rows());
  const Array<char> scratch(few_queries::workspace_bytes(shape));

  const auto launch = [&] {
    few_queries::STEP(shape, q.device, k.device, v.device, out.device, lse.device,
                      {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  // bf16 rounds to 8 bits: each weight, and the result.
  const auto want = [&](int64_t i) {                   // out[row][d], of all heads
    const int64_t row = i / HS, first = row / NH * T;  // the first key of its sequence
    const auto score = [&](int64_t key) {
      return sum_of(HS, [&](int64_t d) {
        return q.at(row * HS + d) * k.at((first + key) * HS + d) / std::sqrt(HS);
      });
    };
    const auto value = [&](int64_t key) { return v.at((first + key) * HS + i % HS); };
    return softmax_mean(T, score, value, 0x1p-7);
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
