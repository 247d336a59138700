// The main() of ./learn take 01 STEP FILE.
// words: M N K, in the simulator 200 150 100
#include <exception>

#include "01_naive_matmul.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 4096), N = size_word(argc, argv, 2, 4096),
                K = size_word(argc, argv, 3, 4096);
  const Array<float> A(M * K, 1), B(K * N, 2);
  Array<float> C(M * N);

  const auto launch = [&] { naive_matmul::STEP(A.device, B.device, C.device, M, N, K); };
  launch();
  const auto want = [&](int64_t i) {  // C[i / N][i % N]
    return sum_of(K, [&](int64_t k) { return A.at(i / N * K + k) * B.at(k * N + i % N); });
  };
  if (!is_right(C, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
