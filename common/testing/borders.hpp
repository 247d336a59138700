// The borders of a rule: where along a size what it chooses changes. Shapes on both sides of each
// are found by asking the rule, so a test that runs them follows a threshold wherever it moves.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tutorial {

/// The sizes of a problem that a rule looks at: {M, N, K}, say.
template <size_t COUNT>
using Sizes = std::array<int64_t, COUNT>;

/// Two neighbours, one apart in one size, for which a rule chooses differently.
template <size_t COUNT>
struct Border {
  Sizes<COUNT> below, above;
  std::string choice_below, choice_above;
};

/// What a launcher chooses: the kernels that `launch` would launch on this device, by name. Skips
/// the test on a GPU, where nothing is planned.
std::string kernels_of(const std::function<void()>& launch);

/// Of each pair of choices that are neighbours the border where `work`, of the larger shape, is
/// least. Sizes are from `least` to `most`. It looks from each power of two, and from the next
/// size, to the next ones, and halves what lies between where the choices there differ.
template <size_t COUNT>
std::vector<Border<COUNT>> borders_of(const Sizes<COUNT>& least, const Sizes<COUNT>& most,
                                      const std::function<std::string(const Sizes<COUNT>&)>& choice,
                                      const std::function<double(const Sizes<COUNT>&)>& work) {
  std::array<std::vector<int64_t>, COUNT> tried;
  for (size_t axis = 0; axis < COUNT; ++axis) {
    for (int64_t size = 1; size < most[axis]; size *= 2)
      for (int64_t near : {size, size + 1})
        if (near > least[axis] && near < most[axis]) tried[axis].push_back(near);
    tried[axis].insert(tried[axis].end(), {least[axis], most[axis]});
    std::ranges::sort(tried[axis]);
    tried[axis].erase(std::unique(tried[axis].begin(), tried[axis].end()), tried[axis].end());
  }

  std::map<std::pair<std::string, std::string>, Border<COUNT>> found;
  std::map<Sizes<COUNT>, std::string> known_choices;
  const auto choice_of = [&](const Sizes<COUNT>& sizes) {
    const auto [known, is_new] = known_choices.try_emplace(sizes);
    if (is_new) known->second = choice(sizes);
    return known->second;
  };
  const auto look_between = [&](size_t axis, Sizes<COUNT> below, Sizes<COUNT> above) {
    const std::string of_below = choice_of(below);
    std::string of_above = choice_of(above);
    if (of_below == of_above) return;
    while (above[axis] - below[axis] > 1) {
      Sizes<COUNT> between = below;
      between[axis] += (above[axis] - below[axis]) / 2;
      std::string of_between = choice_of(between);
      if (of_between == of_below)
        below = between;
      else
        above = between, of_above = std::move(of_between);
    }
    const Border<COUNT> border = {below, above, of_below, of_above};
    const auto [known, is_new] = found.try_emplace({of_below, of_above}, border);
    if (!is_new && work(above) < work(known->second.above)) known->second = border;
  };
  // Each shape of tried sizes, and its next one along each axis.
  Sizes<COUNT> at = {};  // indices in `tried`
  const auto shape = [&] {
    Sizes<COUNT> sizes;
    for (size_t axis = 0; axis < COUNT; ++axis) sizes[axis] = tried[axis][at[axis]];
    return sizes;
  };
  for (size_t carry = 0; carry < COUNT;) {
    for (size_t axis = 0; axis < COUNT; ++axis) {
      if (at[axis] + 1 == std::ssize(tried[axis])) continue;
      Sizes<COUNT> next = shape();
      next[axis] = tried[axis][at[axis] + 1];
      look_between(axis, shape(), next);
    }
    for (carry = 0; carry < COUNT && ++at[carry] == std::ssize(tried[carry]); ++carry)
      at[carry] = 0;
  }

  std::vector<Border<COUNT>> borders;
  for (const auto& [key, border] : found) borders.push_back(border);
  return borders;
}

/// The shapes on both sides, each once, the one with the least work first, as long as all together
/// have no more than `most_work`.
template <size_t COUNT>
std::vector<Sizes<COUNT>> border_shapes(
    const Sizes<COUNT>& least, const Sizes<COUNT>& most,
    const std::function<std::string(const Sizes<COUNT>&)>& choice,
    const std::function<double(const Sizes<COUNT>&)>& work, double most_work) {
  std::vector<Sizes<COUNT>> shapes;
  for (const Border<COUNT>& border : borders_of<COUNT>(least, most, choice, work))
    shapes.insert(shapes.end(), {border.below, border.above});
  std::ranges::sort(shapes, [&](const auto& a, const auto& b) {
    return std::pair(work(a), a) < std::pair(work(b), b);
  });
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  const auto is_too_much = [&, sum = 0.0](const Sizes<COUNT>& sizes) mutable {
    return (sum += work(sizes)) > most_work;
  };
  shapes.erase(std::find_if(shapes.begin(), shapes.end(), is_too_much), shapes.end());
  return shapes;
}

}  // namespace tutorial
