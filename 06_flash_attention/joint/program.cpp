// The program's part joint: two products one after the other and as one, and what their kernels
// count beside the article's formulas.
#include <algorithm>
#include <cstdio>

#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/program/chapter.hpp"
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {
namespace {

std::string count_line(const char* name, int b, const Tally& counted, const Tally& formula) {
  char line[160];
  const auto number = [](int64_t count) { return static_cast<long long>(count); };
  std::snprintf(line, sizeof line, "  %-21s %3d  %15lld %15lld  %15lld %15lld", name, b,
                number(counted.flop), number(formula.flop), number(counted.accesses),
                number(formula.accesses));
  return line;
}

/// Prints what the kernels count, beside the article's formulas.
void say_counts(Chapter& chapter, const float* a, const float* b, const float* c, int64_t m,
                int64_t n, int64_t k) {
  DeviceBuffer<float> y(m * k), y_tilde(m * n);
  chapter.say("as the kernels count and as the article's formulas say:");
  chapter.say(
      "                          b     FLOP counted         formula         accesses"
      "         formula");
  const int largest = tile_for(k);
  std::string by_the_counts;
  for (int tile : {largest, largest / 2}) {
    if (tile < TILES[0]) continue;
    Tally two, one;
    chapter.watch("the count of both products", [&] {
      one = count_joint_tiling(a, b, c, y.data(), m, n, k, tile);
      two = count_two_products(a, b, c, y.data(), y_tilde.data(), m, n, k, tile);
    });
    chapter.say(count_line("one after the other", tile, two, article_two_products(m, n, k, tile)));
    chapter.say(count_line("joint", tile, one, article_joint_tiling(m, n, k, tile)));
    if (tile == largest)
      by_the_counts = "; by the counts with b = " + std::to_string(largest) +
                      (one.accesses < two.accesses ? " it does" : " it does not");
  }
  const std::string three_n = std::to_string(3 * n);
  chapter.say("  by the article joint tiling with b = k pays if k < 3·n: " + std::to_string(k) +
              (k < 3 * n ? " < " + three_n + ", it does" : " >= " + three_n + ", it does not") +
              by_the_counts);
}

}  // namespace

void body(Chapter& chapter) {
  int64_t m, n, k;
  chapter.size("--m", m, {.gpu = 1024, .cpu = 160}, "rows of A and y");
  chapter.size("--n", n, {.gpu = 1024, .cpu = 160}, "columns of B, rows of C");
  chapter.size("--k", k, {.gpu = 64, .cpu = 32}, "columns of A, C and y, rows of B");
  Input& A = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix: queries");
  Input& B = chapter.input("b", {{"--k"}, {"--n"}}, "the middle one: keys, transposed");
  Input& C = chapter.input("c", {{"--n"}, {"--k"}}, "the right one: values");
  chapter.steps(steps);
  chapter.output_name("y");
  chapter.parse();
  chapter.symbols({{"m", m}, {"n", n}, {"k", k}, {"b", tile_for(k)}});

  const double products = static_cast<double>(m) * n * k;
  chapter.problem("y[" + shape_text({m, k}) + "] = (A[" + shape_text({m, k}) + "] · B[" +
                      shape_text({k, n}) + "]) · C[" + shape_text({n, k}) + "], fp32",
                  {.flop = 4 * products, .bytes = 8.0 * (m + n) * k}, {m, k},
                  4.0 * m * n + 4.0 * m * k);
  const float* a = A.device();
  const float* b = B.device();
  const float* c = C.device();
  if (products > 0) say_counts(chapter, a, b, c, m, n, k);

  const std::vector<int64_t> rows =
      sample_rows(m, static_cast<int64_t>(1e8 / std::max(1.0, 1.0 * n * k)) + 1, chapter.seed());
  const Expected want = reference(A.host(), B.host(), C.host(), n, k, rows);
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, want, rows, layout);
  });
  DeviceBuffer<float> y_tilde(m * n);
  for (const auto& step : steps)
    chapter.run(step, [&](float* y) { step.launch(a, b, c, y, y_tilde.data(), m, n, k); });
}

}  // namespace tutorial::flash_attention::joint
