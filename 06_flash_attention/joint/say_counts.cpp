// What the kernels of part joint count beside the article's formulas.
#include "joint/say_counts.hpp"

#include <algorithm>
#include <cstdio>

#include "common/data/device_buffer.hpp"
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

}  // namespace

void say_counts(Table& table, const float* a, const float* b, const float* c, int64_t m, int64_t n,
                int64_t k) {
  DeviceBuffer<float> y(m * k), y_tilde(m * n);
  table.say("as the kernels count and as the article's formulas say:");
  table.say(
      "                          b     FLOP counted         formula         accesses"
      "         formula");
  const int largest = tile_for(k);
  std::string by_the_counts;
  for (int tile : {largest, largest / 2}) {
    if (tile < TILES[0]) continue;
    Tally two, one;
    table.watch("the count of both products", [&] {
      one = count_joint_tiling(a, b, c, y.data(), m, n, k, tile);
      two = count_two_products(a, b, c, y.data(), y_tilde.data(), m, n, k, tile);
    });
    table.say(count_line("one after the other", tile, two, article_two_products(m, n, k, tile)));
    table.say(count_line("joint", tile, one, article_joint_tiling(m, n, k, tile)));
    if (tile == largest)
      by_the_counts = "; by the counts with b = " + std::to_string(largest) +
                      (one.accesses < two.accesses ? " it does" : " it does not");
  }
  const std::string three_n = std::to_string(3 * n);
  table.say("  by the article joint tiling with b = k pays if k < 3·n: " + std::to_string(k) +
            (k < 3 * n ? " < " + three_n + ", it does" : " >= " + three_n + ", it does not") +
            by_the_counts);
}

}  // namespace tutorial::flash_attention::joint
