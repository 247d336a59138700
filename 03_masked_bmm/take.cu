// The main() of ./learn take 03 STEP FILE.
// words: batch M N K, in the simulator 2 200 150 40
#include <exception>

#include "03_masked_bmm.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t batch = size_word(argc, argv, 1, 128), M = size_word(argc, argv, 2, 1024),
                N = size_word(argc, argv, 3, 1024), K = size_word(argc, argv, 4, 64);
  const Array<float> A(batch * M * K, 1), B(batch * K * N, 2);
  Array<float> C(batch * M * N);
  Array<uint8_t> mask(M * N);  // causal
  for (int64_t i = 0; i < M * N; ++i) mask.host[i] = i % N - i / N <= N - M;
  mask.to_device();
  masked_bmm::MaskedBmm p = {.batch = batch, .M = M, .N = N, .K = K, .mask = mask.device};
  using masked_bmm::Kept, masked_bmm::BLOCK, masked_bmm::PATCH;        // but: bmm_then_fill
  const Array<Kept> blocks(ceil_div(M, BLOCK) * ceil_div(N, BLOCK));   // but: bmm_then_fill
  const Array<Kept> patches(ceil_div(M, PATCH) * ceil_div(N, PATCH));  // but: bmm_then_fill
  masked_bmm::build_coarse_masks(p, blocks.device, patches.device);    // but: bmm_then_fill
  p.block_mask = blocks.device, p.thread_mask = patches.device;        // but: bmm_then_fill

  const auto launch = [&] { masked_bmm::STEP(p, A.device, B.device, C.device); };
  launch();
  const auto want = [&](int64_t i) {  // C[b][row][col]; A and C have batch · M rows in all
    const int64_t row = i / N, col = i % N, b = row / M;
    if (mask.host[i % (M * N)] == 0) return Want{p.fill, 0};
    return sum_of(K, [&](int64_t k) { return A.at(row * K + k) * B.at((b * K + k) * N + col); });
  };
  if (!is_right(C, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
