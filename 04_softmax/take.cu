// The main() of ./learn take 04 STEP FILE.
// words: rows cols, in the simulator 20 1000
#include <exception>

#include "04_softmax.hpp"
#include "common/take/take.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t rows = size_word(argc, argv, 1, 16384), cols = size_word(argc, argv, 2, 4096);
  const Array<float> x(rows * cols, 1);
  Array<float> y(rows * cols);

  const auto launch = [&] { softmax::STEP(x.device, y.device, rows, cols); };
  launch();
  const auto want = [&](int64_t i) {  // y[i / cols][i % cols]
    const int64_t first = i / cols * cols;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < cols; ++j) max = std::max(max, x.at(first + j));
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(x.at(first + j) - max);
    const double share = std::exp(x.at(i) - max) / sum;
    return Want{share, share * (cols + 20) * 0x1p-24};  // each addition rounds, and so does exp
  };
  if (!is_right(y, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
