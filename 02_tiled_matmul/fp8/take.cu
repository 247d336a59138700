// The main() of ./learn take 02/fp8 STEP FILE.
// words: M N K, in the simulator 200 160 272
#include <exception>

#include "common/take/take.hpp"
#include "fp8/fp8.hpp"

using namespace tutorial;
using namespace tutorial::take;
using namespace tutorial::tiled_matmul::fp8;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 4096), N = size_word(argc, argv, 2, 4096),
                K = size_word(argc, argv, 3, 4096);
  // Numbers that are e4m3's already, and scales of 1.
  const Array<e4m3> A(M * K, 1), B(N * K, 2);
  Array<float> ones(std::max(M, N) * (K / 128 + 1));
  std::fill(ones.host.begin(), ones.host.end(), 1.0f);
  ones.to_device();
  Array<__nv_bfloat16> C(M * N);
  const Fp8Product product = {.M = M, .N = N, .K = K};
  const Array<char> scratch(workspace_bytes(product, A.device, B.device));

  const auto launch = [&] {
    STEP(product, A.device, B.device, {ones.device, ones.device}, C.device,
         {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  // Tensor cores keep 14 bits of a sum, and C has 8.
  const double unit = 0x1p-7 / static_cast<double>(K);
  const auto want = [&](int64_t i) {  // C[i / N][i % N]
    return sum_of(
        K, [&](int64_t k) { return A.at(i / N * K + k) * B.at(i % N * K + k); }, unit);
  };
  if (!is_right(C, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
