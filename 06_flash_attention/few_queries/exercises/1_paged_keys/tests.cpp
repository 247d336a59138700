#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// Sequences whose pages lie in no order, as they came to be needed. What nobody wrote on the
/// device is left out there: the rest of each last page, and of the table.
struct Cache {
  std::vector<int64_t> lengths;
  int64_t most = 0;
  std::vector<std::vector<int>> pages;  // of each sequence
  std::vector<float> q, k, v;           // k and v: the pools, whole
  explicit Cache(std::vector<int64_t> of) : lengths(std::move(of)) {
    int count = 0;
    for (const int64_t length : lengths) {
      pages.emplace_back(ceil_div(length, PAGE));
      count += static_cast<int>(pages.back().size());
      most = std::max(most, static_cast<int64_t>(pages.back().size()));
    }
    int next = 0;  // every seventh of a prime number of pages: all of them, and no neighbours
    while (count % 7 == 0) ++count;
    for (auto& own : pages)
      for (int& page : own) page = (next += 7) % count;
    q = make_values({sequences(), HS}, Init::normal, 1);
    k = make_values({count, PAGE, HS}, Init::normal, 2);
    v = make_values({count, PAGE, HS}, Init::normal, 3);
  }
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }
  int64_t row(size_t s, int64_t j) const {
    return int64_t{pages[s][static_cast<size_t>(j / PAGE)]} * PAGE + j % PAGE;
  }
};

/// The cache on the device.
class OnDevice {
 public:
  explicit OnDevice(const Cache& cache)
      : cache_(cache),
        q_(cache.q),
        k_(static_cast<int64_t>(cache.k.size())),
        v_(static_cast<int64_t>(cache.v.size())),
        table_(cache.sequences() * cache.most),
        lengths_(cache.lengths) {
    for (size_t s = 0; s < cache.lengths.size(); ++s) {
      const auto& own = cache.pages[s];
      write(table_.data() + static_cast<int64_t>(s) * cache.most, own.data(), own.size());
      for (int64_t j = 0; j < cache.lengths[s]; ++j) {
        write(k_.data() + cache.row(s, j) * HS, &cache.k[cache.row(s, j) * HS], HS);
        write(v_.data() + cache.row(s, j) * HS, &cache.v[cache.row(s, j) * HS], HS);
      }
    }
  }
  void attend(float* out) const {
    paged_attention(q_.data(), k_.data(), v_.data(), table_.data(), lengths_.data(), out,
                    cache_.sequences(), cache_.most);
  }

 private:
  template <class T>
  static void write(T* to, const T* from, size_t count) {
    CUDA_CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
  }
  const Cache& cache_;
  DeviceBuffer<float> q_, k_, v_;
  DeviceBuffer<int> table_;
  DeviceBuffer<int64_t> lengths_;
};

/// A score is off by the rounding of HS products, their sum and the scale, which makes a weight
/// wrong by as much of itself.
Expected attention(const Cache& cache) {
  Expected want;
  for (size_t s = 0; s < cache.lengths.size(); ++s) {
    const int64_t length = cache.lengths[s];
    const float* q = &cache.q[s * HS];
    std::vector<double> score(length), error(length);
    for (int64_t j = 0; j < length; ++j) {
      double magnitude = 0;
      for (int d = 0; d < HS; ++d) {
        const double product = double{q[d]} * cache.k[cache.row(s, j) * HS + d] / std::sqrt(HS);
        score[j] += product;
        magnitude += std::abs(product);
      }
      error[j] = gamma_bound(HS + 3) * magnitude;
    }
    const double max = length == 0 ? 0 : *std::ranges::max_element(score);
    const double worst = length == 0 ? 0 : *std::ranges::max_element(error);
    double sum = 0;
    for (const double x : score) sum += std::exp(x - max);
    for (int d = 0; d < HS; ++d) {
      double value = 0, bound = 0;
      for (int64_t j = 0; j < length; ++j) {
        const double part = std::exp(score[j] - max) / sum * cache.v[cache.row(s, j) * HS + d];
        // The error of its score, that of all in what is divided by, and the output's own sum.
        const double relative =
            exp_error(max - score[j]) + error[j] + worst + 2 * sum_error(length);
        value += part;
        bound += std::abs(part) * relative;
      }
      want.value.push_back(value);
      want.bound.push_back(bound);
    }
  }
  return want;
}

void check(const Cache& cache) {
  const OnDevice device(cache);
  check_launch([&](float* out) { device.attend(out); }, attention(cache),
               {.name = "out",
                .rows = cache.sequences(),
                .cols = HS,
                .tile = {.rows = 4, .cols = HS, .thread_rows = 0, .x_down = true}});
}

}  // namespace

TEST_CASE("a sequence of any length") {
  const int64_t length = GENERATE(16, 1, 15, 17, 64, 100, 0);
  CAPTURE(length);
  check(Cache(std::vector{length}));
}

TEST_CASE("sequences of many lengths") {
  const bool none = GENERATE(false, true);
  CAPTURE(none);
  check(Cache(none ? std::vector<int64_t>{} : std::vector<int64_t>{33, 0, 16, 7, 129}));
}

TEST_CASE("the budget: each key and value once, the table once a page") {
  const Cache cache({40, 16, 23, 1});
  const OnDevice device(cache);
  DeviceBuffer<float> out(cache.sequences() * HS);
  const Counts counts = counts_for_budget([&] { device.attend(out.data()); });
  const int64_t keys = 40 + 16 + 23 + 1, pages = 3 + 1 + 2 + 1;
  // A key and its value are a request each; a query is two, a length one.
  check_budget("requests of loads", counts.loads.requests, 2 * keys + pages + 3 * 4);
}

}  // namespace tutorial::exercise
