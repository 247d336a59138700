#include "common/testing/borders.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace tutorial {
namespace {

double product(const Sizes<2>& sizes) {
  return static_cast<double>(sizes[0] * sizes[1]);
}

TEST_CASE("borders: both sides of a threshold along each size") {
  const auto rule = [](const Sizes<2>& s) -> std::string {
    return s[0] > 37 ? "many" : s[1] >= 1000 ? "wide" : "few";
  };
  const auto borders = borders_of<2>({1, 1}, {500, 5000}, rule, product);
  REQUIRE(borders.size() == 3);
  CHECK(borders[0].below == Sizes<2>{37, 1});
  CHECK(borders[0].above == Sizes<2>{38, 1});
  CHECK(borders[0].choice_below == "few");
  CHECK(borders[0].choice_above == "many");
  CHECK(borders[1].below == Sizes<2>{1, 999});
  CHECK(borders[1].above == Sizes<2>{1, 1000});
  CHECK(borders[2].below[0] == 37);
  CHECK(borders[2].above[0] == 38);
  CHECK(borders[2].above[1] >= 1000);
}

TEST_CASE("borders: of those with the same choices the one with the least work") {
  const auto rule = [](const Sizes<2>& s) -> std::string {
    return s[0] * s[1] > 4000 ? "large" : "small";
  };
  const auto borders = borders_of<2>({10, 3}, {5000, 300}, rule, product);
  REQUIRE(borders.size() == 1);
  CHECK(product(borders[0].below) <= 4000);
  CHECK(product(borders[0].above) > 4000);
  CHECK(product(borders[0].above) <= 4005);
}

TEST_CASE("borders: a choice that only every fourth size has") {
  const auto rule = [](const Sizes<1>& s) -> std::string { return s[0] % 4 == 0 ? "wide" : "one"; };
  const auto borders =
      borders_of<1>({0}, {100}, rule, [](const Sizes<1>& s) { return double(s[0]); });
  REQUIRE(borders.size() == 2);
  CHECK(borders[0].above == Sizes<1>{4});
  CHECK(borders[1].below == Sizes<1>{0});
}

TEST_CASE("borders: shapes come once, the least work first, and no more than asked for") {
  const auto rule = [](const Sizes<2>& s) { return std::to_string(s[0] / 100 + s[1] / 7); };
  const auto shapes = border_shapes<2>({1, 1}, {400, 20}, rule, product, 1000);
  REQUIRE(shapes.size() > 2);
  double sum = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    sum += product(shapes[i]);
    if (i > 0) CHECK(product(shapes[i - 1]) <= product(shapes[i]));
    if (i > 0) CHECK(shapes[i - 1] != shapes[i]);
  }
  CHECK(sum <= 1000);
  CHECK(shapes.front() == Sizes<2>{1, 6});
  CHECK(border_shapes<2>({1, 1}, {400, 20}, rule, product, 5).empty());
}

TEST_CASE("borders: a rule that always says the same has none") {
  const auto rule = [](const Sizes<2>&) -> std::string { return "all"; };
  CHECK(borders_of<2>({0, 0}, {100, 100}, rule, product).empty());
}

}  // namespace
}  // namespace tutorial
