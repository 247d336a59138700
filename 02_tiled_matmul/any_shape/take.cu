// The main() of ./learn take 02/any_shape STEP FILE.
// words: M N K, in the simulator 70 50 1000  // but: few_rows, few_columns, short_k
// words: M N K, in the simulator 3 50 1000   // only: few_rows
// words: M N K, in the simulator 70 5 600    // only: few_columns
// words: M N K, in the simulator 70 50 40    // only: short_k
#include <exception>

#include "any_shape/any_shape.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 500);   // but: few_rows
  const int64_t M = size_word(argc, argv, 1, 4);     // only: few_rows
  const int64_t N = size_word(argc, argv, 2, 1000);  // but: few_columns
  const int64_t N = size_word(argc, argv, 2, 8);     // only: few_columns
  const int64_t K = size_word(argc, argv, 3, 4001);  // but: short_k
  const int64_t K = size_word(argc, argv, 3, 64);    // only: short_k
  const Array<float> A(M * K, 1), B(K * N, 2);
  Array<float> C(M * N, 3);
  const std::vector<float> before = C.host;
  const Array<char> scratch(
      tiled_matmul::any_shape::workspace_bytes({.M = M, .N = N, .K = K}, B.device));

  const float alpha = 2;
  const auto launch = [&](float beta) {
    tiled_matmul::any_shape::STEP({.M = M, .N = N, .K = K, .alpha = alpha, .beta = beta}, A.device,
                                  B.device, C.device,
                                  {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch(3);
  const auto want = [&](int64_t i) {  // C[i / N][i % N]
    const Want sum =
        sum_of(K, [&](int64_t k) { return A.at(i / N * K + k) * B.at(k * N + i % N); });
    const double product = alpha * sum.value, old = 3.0 * before[i];
    return Want{product + old, alpha * sum.bound + 0x1p-22 * (std::abs(product) + std::abs(old))};
  };
  if (!is_right(C, want)) return 1;
  print_time("STEP", [&] { launch(0); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
