// The main() of ./learn take 03/block_lists STEP FILE.
// words: batch M N K, in the simulator 2 200 150 40
#include <exception>

#include "block_lists/block_lists.hpp"
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
  using namespace masked_bmm;
  block_lists::ListedBmm p;
  p.batch = batch, p.M = M, p.N = N, p.K = K, p.mask = mask.device;
  const int64_t of_mask = ceil_div(M, BLOCK) * ceil_div(N, BLOCK);
  const Array<Kept> states(of_mask);
  const Array<block_lists::ListedBlock> list(of_mask);
  const Array<uint64_t> words(ceil_div(M, PATCH) * ceil_div(N, PATCH));
  block_lists::build_mask_words(p, words.device, states.device, list.device);
  p.mask_words = words.device, p.block_list = list.device;
  p.band = block_lists::Band{-(M + N), N - M};

  const auto launch = [&] { block_lists::STEP(p, A.device, B.device, C.device); };
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
