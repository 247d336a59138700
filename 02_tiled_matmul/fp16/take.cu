// The main() of ./learn take 02/fp16 STEP FILE.
// words: M N K, in the simulator 200 150 100
#include <exception>

#include "common/take/take.hpp"
#include "fp16/fp16.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 4096), N = size_word(argc, argv, 2, 4096),
                K = size_word(argc, argv, 3, 4096);
  const Array<__half> A(M * K, 1), B(K * N, 2);
  Array<float> C(M * N);
  const auto launch = [&] {
    tiled_matmul::fp16::STEP({.M = M, .N = N, .K = K}, A.device, B.device, C.device, {}, nullptr);
  };
  launch();
  // Tensor cores multiply fp16 exactly. Where they add, they cut off and do not round.
  const auto want = [&](int64_t i) {  // C[i / N][i % N]
    return sum_of(
        K, [&](int64_t k) { return A.at(i / N * K + k) * B.at(k * N + i % N); }, 0x1p-22);
  };
  if (!is_right(C, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
