// The standard library's distributions give other values on other systems, so the values here come
// from integer arithmetic alone: a hash of (seed, index), and one exact scaling to float.
#include "common/data/random.hpp"

#include <algorithm>
#include <string>

#include "common/data/shape.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

/// Spreads every bit of `x` over the whole word (the finaliser of SplitMix64: Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with Stafford's
/// constants).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// 64 random bits for each index. No state runs from one value to the next.
class Bits {
 public:
  explicit Bits(uint64_t seed) : key_(mix(seed + kStep)) {}
  uint64_t operator[](uint64_t index) const { return mix(key_ + (index + 1) * kStep); }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd
  uint64_t key_;
};

/// In [-1, 1), in steps of 2^-23.
float uniform(uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
}

/// The sum of four 16-bit numbers.
int64_t sum_of_quarters(uint64_t bits) {
  return static_cast<int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
                              (bits >> 48));
}

/// Near to normal: the sum of 12 uniform numbers, each of variance 1/12. It ends at ±6, and needs
/// no logarithm, whose last bit differs between systems.
float normal(const Bits& bits, uint64_t index) {
  const int64_t sum = sum_of_quarters(bits[3 * index]) + sum_of_quarters(bits[3 * index + 1]) +
                      sum_of_quarters(bits[3 * index + 2]);
  constexpr int64_t mean = 12 * 65535 / 2;
  return static_cast<float>(sum - mean) * 0x1p-16f;
}

std::vector<float> identity(const std::vector<int64_t>& shape, size_t count) {
  std::vector<float> values(count, 0.0f);
  if (count == 0) return values;
  const size_t rank = shape.size();
  const size_t cols = rank > 0 ? static_cast<size_t>(shape[rank - 1]) : 1;
  const size_t rows = rank > 1 ? static_cast<size_t>(shape[rank - 2]) : 1;
  for (size_t matrix = 0; matrix < count; matrix += rows * cols)
    for (size_t i = 0; i < std::min(rows, cols); ++i) values[matrix + i * cols + i] = 1.0f;
  return values;
}

struct InitName {
  std::string_view name;
  Init init;
};
constexpr InitName kInits[] = {{"uniform", Init::uniform},
                               {"normal", Init::normal},
                               {"arange", Init::arange},
                               {"identity", Init::identity},
                               {"outliers", Init::outliers}};

}  // namespace

const char* init_names() {
  return "uniform|normal|arange|identity|outliers";
}

Init parse_init(std::string_view name) {
  std::vector<std::string> names;
  for (const InitName& known : kInits) {
    if (known.name == name) return known.init;
    names.emplace_back(known.name);
  }
  throw Error("--init does not know \"" + std::string(name) + "\"; " +
              did_you_mean(std::string(name), names) + "choose one of " + init_names());
}

std::vector<float> make_values(const std::vector<int64_t>& shape, Init init, uint64_t seed) {
  const size_t count = static_cast<size_t>(element_count(shape));

  std::vector<float> values(count);
  const Bits bits(seed);
  switch (init) {
    case Init::uniform:
      for (size_t i = 0; i < count; ++i) values[i] = uniform(bits[i]);
      break;
    case Init::normal:
    case Init::outliers:
      for (size_t i = 0; i < count; ++i) values[i] = normal(bits, i);
      break;
    case Init::arange:  // the last of very many would round to 1
      for (size_t i = 0; i < count; ++i)
        values[i] = std::min(
            static_cast<float>(static_cast<double>(i) / static_cast<double>(count)), 1 - 0x1p-24f);
      break;
    case Init::identity:
      return identity(shape, count);
  }
  if (init == Init::outliers) {
    const Bits chosen(~seed);
    for (size_t i = 0; i < count; ++i)
      if (chosen[i] % 1000 == 0) values[i] *= 1000.0f;
  }
  return values;
}

}  // namespace tutorial
