// Initial values: the same everywhere, and spread as they should be.
#include "common/data/random.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <sstream>

#include "common/kernel/error.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

constexpr int64_t kMany = 1'000'000;

struct Moments {
  double mean, deviation, low, high;
};

Moments moments(const std::vector<float>& values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double square = 0;
  for (float value : values) square += (value - mean) * (value - mean);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {mean, std::sqrt(square / count), *low, *high};
}

/// The correlation of each value with the one `step` further on.
double correlation(const std::vector<float>& a, const std::vector<float>& b, size_t step) {
  double sum = 0;
  for (size_t i = 0; i + step < a.size(); ++i) sum += double{a[i]} * b[i + step];
  return sum / static_cast<double>(a.size()) / (moments(a).deviation * moments(b).deviation);
}

}  // namespace

TEST_CASE("values are the same on every machine") {
  CHECK(make_values({4}, Init::uniform, 1) ==
        std::vector<float>{-0x1.0df2a8p-2f, 0x1.c635bp-1f, -0x1.d1a828p-1f, 0x1.1c186cp-1f});
  CHECK(make_values({4}, Init::normal, 1) ==
        std::vector<float>{0x1.737p-3f, 0x1.0b6cp-2f, -0x1.d63fp+0f, -0x1.b04p-1f});
  CHECK(make_values({4}, Init::arange, 1) == std::vector<float>{0, 0.25f, 0.5f, 0.75f});
}

TEST_CASE("uniform values") {
  const Moments m = moments(make_values({kMany}, Init::uniform, 1));
  CHECK_THAT(m.mean, WithinAbs(0, 0.003));
  CHECK_THAT(m.deviation, WithinAbs(1 / std::sqrt(3.0), 0.002));
  CHECK(m.low >= -1);
  CHECK(m.low < -0.9999);
  CHECK(m.high < 1);
  CHECK(m.high > 0.9999);
}

TEST_CASE("normal values") {
  const std::vector<float> values = make_values({kMany}, Init::normal, 1);
  const Moments m = moments(values);
  CHECK_THAT(m.mean, WithinAbs(0, 0.005));
  CHECK_THAT(m.deviation, WithinAbs(1, 0.003));
  for (const auto& [limit, share] : {std::pair{1.0, 0.6827}, {2.0, 0.9545}, {3.0, 0.9973}}) {
    const auto inside = std::count_if(values.begin(), values.end(),
                                      [&](float value) { return std::abs(value) < limit; });
    CHECK_THAT(static_cast<double>(inside) / kMany, WithinAbs(share, 0.005));
  }
}

TEST_CASE("outliers") {
  const std::vector<float> values = make_values({kMany}, Init::outliers, 1);
  const auto large =
      std::count_if(values.begin(), values.end(), [](float value) { return std::abs(value) > 10; });
  CHECK(large > 800);
  CHECK(large < 1200);
}

TEST_CASE("a seed decides all, and seeds are unlike each other") {
  for (const Init init : {Init::uniform, Init::normal, Init::outliers}) {
    const std::vector<float> one = make_values({kMany}, init, 1);
    const std::vector<float> two = make_values({kMany}, init, 2);
    CHECK(one == make_values({1000, 1000}, init, 1));
    CHECK(one != two);
    for (const size_t step : {0, 1, 1000})
      CHECK_THAT(correlation(one, two, step), WithinAbs(0, 0.01));
    for (const size_t step : {1, 2, 16, 1000})
      CHECK_THAT(correlation(one, one, step), WithinAbs(0, 0.01));
  }
}

TEST_CASE("arange stays below 1") {
  const std::vector<float> values = make_values({(1 << 25) + 3}, Init::arange, 1);
  CHECK(values.front() == 0);
  CHECK(values.back() < 1);
  CHECK(std::is_sorted(values.begin(), values.end()));
}

TEST_CASE("identity fills each trailing matrix") {
  CHECK(make_values({2, 2, 3}, Init::identity, 1) ==
        std::vector<float>{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0});
  CHECK(make_values({3, 2}, Init::identity, 1) == std::vector<float>{1, 0, 0, 1, 0, 0});
  CHECK(make_values({3}, Init::identity, 1) == std::vector<float>{1, 0, 0});
  CHECK(make_values({}, Init::identity, 1) == std::vector<float>{1});
}

TEST_CASE("an empty tensor has no values") {
  for (const Init init :
       {Init::uniform, Init::normal, Init::arange, Init::identity, Init::outliers})
    CHECK(make_values({3, 0, 2}, init, 1).empty());
}

TEST_CASE("the names of --init") {
  std::istringstream names(init_names());
  int count = 0;
  for (std::string name; std::getline(names, name, '|'); ++count)
    CHECK(static_cast<int>(parse_init(name)) == count);
  CHECK(count == 5);
  CHECK_THROWS_AS(parse_init("zeros"), Error);
  CHECK_THROWS_WITH(parse_init("zeros"), ContainsSubstring(init_names()));
}
