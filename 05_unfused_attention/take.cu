// The main() of ./learn take 05 STEP FILE.
// words: B T C NH, in the simulator 2 100 48 3
#include <exception>

#include "05_unfused_attention.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t B = size_word(argc, argv, 1, 8), T = size_word(argc, argv, 2, 1024),
                C = size_word(argc, argv, 3, 768), NH = size_word(argc, argv, 4, 12);
  using namespace unfused_attention;
  const Attention a = {.B = B, .T = T, .C = C, .NH = NH};
  const Array<float> qkv(3 * a.elements(), 1);  // (B, T, 3, NH, HS)
  Array<float> out(a.elements());               // (B, T, C)
  StageWorkspace workspace(a);

  const auto launch = [&] { unfused_attention::STEP(a, qkv.device, workspace, out.device); };
  launch();
  const auto want = [&](int64_t i) {  // out[b][t][channel]
    const int64_t t = i / C % T, channel = i % C, head = channel / a.HS() * a.HS();
    const int64_t first = i / C / T * T * 3 * C;  // of the sequence's in qkv
    const auto score = [&](int64_t key) {
      const int64_t q = first + t * 3 * C + head, k = first + (3 * key + 1) * C + head;
      return sum_of(a.HS(), [&](int64_t d) { return qkv.at(q + d) * qkv.at(k + d) * a.scale(); });
    };
    const auto value = [&](int64_t key) { return qkv.at(first + (3 * key + 2) * C + channel); };
    return softmax_mean(t + 1, score, value);
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
