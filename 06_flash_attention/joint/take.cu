// The main() of ./learn take 06/joint STEP FILE.
// words: m n k, in the simulator 100 90 40
#include <exception>

#include "common/take/take.hpp"
#include "joint/joint.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t m = size_word(argc, argv, 1, 4096), n = size_word(argc, argv, 2, 4096),
                k = size_word(argc, argv, 3, 64);
  const Array<float> A(m * k, 1), B(k * n, 2), C(n * k, 3);
  Array<float> y(m * k), y_tilde(m * n);

  const auto launch = [&] {
    flash_attention::joint::STEP(A.device, B.device, C.device, y.device, y_tilde.device, m, n, k);
  };
  launch();
  const auto want = [&](int64_t i) {  // y[i / k][i % k]
    Want sum;
    for (int64_t j = 0; j < n; ++j) {
      const Want one = sum_of(k, [&](int64_t x) { return A.at(i / k * k + x) * B.at(x * n + j); });
      const double c = C.at(j * k + i % k), most = std::abs(one.value) + one.bound;
      sum.value += one.value * c;
      sum.bound += (one.bound + 1.01 * n * 0x1p-24 * most) * std::abs(c);
    }
    return sum;
  };
  if (!is_right(y, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
