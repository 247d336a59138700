// The main() of ./learn take 06/any_shape STEP FILE.
// words: B NH NH_kv Tq Tk HS, in the simulator 1 4 2 3 200 40     // but: head_sizes, large_heads
// words: B NH NH_kv Tq Tk HS, in the simulator 1 2 1 100 100 40   // only: head_sizes
// words: B NH NH_kv Tq Tk HS, in the simulator 1 2 1 100 100 136  // only: large_heads
#include <exception>

#include "any_shape/any_shape.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  int64_t sizes[] = {8, 32, 8, 2, 4096, 128};      // but: head_sizes, large_heads
  int64_t sizes[] = {2, 32, 32, 2048, 2048, 80};   // only: head_sizes
  int64_t sizes[] = {2, 12, 12, 1024, 1024, 192};  // only: large_heads
  for (int i = 0; i < 6; ++i) sizes[i] = size_word(argc, argv, i + 1, sizes[i]);
  const auto [B, NH, NH_kv, Tq, Tk, HS] = sizes;
  using namespace flash_attention;
  const Attention shape = {.B = B, .NH = NH, .NH_kv = NH_kv, .Tq = Tq, .Tk = Tk, .HS = HS};
  const int64_t keys = B * NH_kv * Tk * HS;
  const Array<float> q(shape.rows() * HS, 1), k(keys, 2), v(keys, 3);  // (B, NH or NH_kv, T, HS)
  Array<float> out(shape.rows() * HS);
  Array<float> lse(shape.rows());
  const Array<char> scratch(any_shape::workspace_bytes(shape));

  const auto launch = [&] {
    any_shape::STEP(shape, q.device, k.device, v.device, out.device, lse.device,
                    {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  const auto want = [&](int64_t i) {  // out[row][d], of all heads' rows; causal
    const int64_t row = i / shape.HS, d = i % shape.HS;
    const int64_t first = row / shape.Tq / shape.group() * shape.Tk;  // of the head's keys
    const auto score = [&](int64_t key) {
      return sum_of(shape.HS, [&](int64_t d) {
        return q.at(row * shape.HS + d) * k.at((first + key) * shape.HS + d) / std::sqrt(shape.HS);
      });
    };
    const auto value = [&](int64_t key) { return v.at((first + key) * shape.HS + d); };
    return softmax_mean(shape.visible_keys(row % shape.Tq), score, value);
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
