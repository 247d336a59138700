// The main() of ./learn take 04/long_rows STEP FILE.
// words: rows cols, in the simulator 4 5000
#include <exception>

#include "common/take/take.hpp"
#include "long_rows/long_rows.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t rows = size_word(argc, argv, 1, 1024), cols = size_word(argc, argv, 2, 65536);
  const Array<float> x(rows * cols, 1);
  Array<float> y(rows * cols);

  const auto launch = [&] {
    softmax::long_rows::STEP({.rows = rows, .cols = cols}, x.device, y.device, nullptr);
  };
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
