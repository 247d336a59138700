// The main() of ./learn take 02/few_rows STEP FILE.
// words: M N K, in the simulator 20 160 104
#include <exception>

#include "common/take/take.hpp"
#include "few_rows/few_rows.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 8), N = size_word(argc, argv, 2, 4096),
                K = size_word(argc, argv, 3, 4096);
  const Array<__nv_bfloat16> A(M * K, 1), B(K * N, 2);
  Array<float> C(M * N);
  const tiled_matmul::few_rows::Bf16Product product = {.M = M, .N = N, .K = K};
  const Array<char> scratch(tiled_matmul::few_rows::workspace_bytes(product, A.device, B.device));

  const auto launch = [&] {
    tiled_matmul::few_rows::STEP(product, A.device, B.device, C.device,
                                 {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  // Tensor cores multiply bf16 exactly. Where they add, they cut off and do not round.
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
