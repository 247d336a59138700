// The main() of ./learn take 03/nearest STEP FILE.
// words: M N D k, in the simulator 150 300 20 1
#include <exception>
#include <utility>

#include "common/take/take.hpp"
#include "nearest/nearest.hpp"

using namespace tutorial;
using namespace tutorial::take;

int main(int argc, char** argv) try {
  const int64_t M = size_word(argc, argv, 1, 8192), N = size_word(argc, argv, 2, 8192),
                D = size_word(argc, argv, 3, 64), k = size_word(argc, argv, 4, 1);
  using namespace masked_bmm::nearest;
  const Array<float> A(M * D, 1), B(N * D, 2);
  Array<float> out(M * k), values(M * k);
  Search search = {.M = M, .N = N, .D = D, .k = k};  // of the smallest distances
  search.measure = Measure::product;                 // only: product_then_minimum, fused_minimum
  const Array<char> scratch(workspace_bytes(search, masked_bmm::nearest::STEP));

  const auto launch = [&] {
    masked_bmm::nearest::STEP(search, A.device, B.device, out.device, values.device,
                              {.memory = scratch.device, .bytes = scratch.size()}, nullptr);
  };
  launch();
  const auto want = [&](int64_t i) {  // the number of a point: place i % k of query i / k
    std::vector<std::pair<double, int64_t>> all;  // each one's distance or product, and its number
    double bound = 0;
    for (int64_t point = 0; point < N; ++point) {
      const Want sum = sum_of(D, [&](int64_t d) {
        const double a = A.at(i / k * D + d), b = B.at(point * D + d);
        return search.measure == Measure::distance ? (a - b) * (a - b) : a * b;
      });
      all.emplace_back(sum.value, point);
      bound = std::max(bound, 2 * sum.bound);
    }
    const double got = out.at(i);
    const double its = got >= 0 && got < N ? all[static_cast<int64_t>(got)].first : NAN;
    std::sort(all.begin(), all.end());
    // Another point is as good if its product is, but for rounding. A distance leaves one answer.
    const bool is_as_good =
        search.measure == Measure::product && std::abs(its - all[i % k].first) <= bound;
    return Want{is_as_good ? got : static_cast<double>(all[i % k].second), 0};
  };
  if (!is_right(out, want)) return 1;
  print_time("STEP", launch);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
