// The main() of ./learn take 02/faster STEP FILE.
// words: M N K, in the simulator 200 150 100
#include <exception>

#include "common/take/take.hpp"
#include "faster/faster.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 4096), N = size_word(argc, argv, 2, 4096),
                K = size_word(argc, argv, 3, 4096);
  const Array<float> A(M * K, 1), B(K * N, 2);
  Array<float> C(M * N, 3);
  const std::vector<float> before = C.host;

  const float alpha = 2;
  const auto launch = [&](float beta) {
    tiled_matmul::faster::STEP(A.device, B.device, C.device, M, N, K, alpha, beta);
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
