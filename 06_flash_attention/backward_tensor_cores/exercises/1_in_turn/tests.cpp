#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

struct Problem {
  int64_t n;
  std::vector<int64_t> begin = {0};
  std::vector<float> A;
  Problem(const std::vector<int64_t>& rows, int64_t columns) : n(columns) {
    for (const int64_t of_block : rows) begin.push_back(begin.back() + of_block);
    A = make_values({begin.back(), n}, Init::normal, 1);
  }
  int blocks() const { return static_cast<int>(begin.size()) - 1; }
  unsigned tiles() const { return static_cast<unsigned>((n + COLUMNS - 1) / COLUMNS); }
};

Expected sums(const Problem& p) {
  Expected want;
  want.value.assign(p.n, 0);
  want.bound.assign(p.n, 0);
  const double error = gamma_bound(p.begin.back() + p.blocks());
  for (size_t i = 0; i < p.A.size(); ++i) {
    want.value[i % p.n] += p.A[i];
    want.bound[i % p.n] += error * std::abs(p.A[i]);
  }
  return want;
}

/// What comes of float32 sums, in the order that is asked for.
std::vector<float> sums_in_turn(const Problem& p) {
  std::vector<float> y(p.n);
  for (int b = 0; b < p.blocks(); ++b)
    for (int64_t c = 0; c < p.n; ++c) {
      float part = 0;
      for (int64_t row = p.begin[b]; row < p.begin[b + 1]; ++row) part += p.A[row * p.n + c];
      y[c] = b == 0 ? part : y[c] + part;
    }
  return y;
}

struct OnDevice {
  explicit OnDevice(const Problem& p)
      : n(p.n), blocks(p.blocks()), A(p.A), begin(p.begin), workspace(p.tiles() + 1) {}
  void launch(float* y) { column_sums(A.data(), begin.data(), blocks, y, n, workspace.data()); }
  int64_t n;
  int blocks;
  DeviceBuffer<float> A;
  DeviceBuffer<int64_t> begin;
  DeviceBuffer<unsigned> workspace;
};

void skip_without_tma() {
  if (const std::string reason = why_not_here("sm_90"); !reason.empty()) SKIP(reason);
}

// The first block has much to do, and those behind it are done before it is. The last one here has
// nothing to do.
const Problem uneven() {
  return {{300, 2, 3, 1, 2, 5, 0}, 612};
}

}  // namespace

TEST_CASE("the sums of columns, of any number of blocks") {
  skip_without_tma();
  const Problem p = GENERATE(Problem({3}, 4), Problem({64, 64}, COLUMNS), uneven(),
                             Problem(std::vector<int64_t>(40, 5), 300), Problem({0, 0, 7}, 60),
                             Problem({5, 5}, 0), Problem({}, 20));
  CAPTURE(p.begin, p.n);
  OnDevice on(p);
  check_launch([&](float* y) { on.launch(y); }, sums(p),
               {.name = "y", .rows = 1, .cols = p.n, .tile = tile_in_any_order(1, COLUMNS)});
}

TEST_CASE("the same bits on every run: the blocks' parts are added in turn") {
  skip_without_tma();
  const Problem p = GENERATE(uneven(), Problem(std::vector<int64_t>(60, 3), 128));
  const std::vector<float> want = sums_in_turn(p);
  OnDevice on(p);
  for (int run = 0; run < 3; ++run) {
    DeviceBuffer<float> y(p.n);
    on.launch(y.data());
    CUDA_CHECK_LAUNCH();
    const std::vector<float> got = y.to_host();
    int64_t others = 0;
    for (int64_t c = 0; c < p.n; ++c) others += got[c] != want[c];
    INFO("run " << run << ": " << others << " of " << p.n << " sums have other bits");
    CHECK(others == 0);
  }
}

TEST_CASE("every tile's turn comes to the number of blocks") {
  skip_without_tma();
  const Problem p = uneven();
  OnDevice on(p);
  DeviceBuffer<float> y(p.n);
  on.launch(y.data());
  CUDA_CHECK_LAUNCH();
  const std::vector<unsigned> turns = on.workspace.to_host();
  for (unsigned tile = 0; tile < p.tiles(); ++tile)
    CHECK(turns[tile] == static_cast<unsigned>(p.blocks()));
}

TEST_CASE("the budget: no thread loads a sum") {
  skip_without_tma();
  const Problem p = uneven();
  OnDevice on(p);
  DeviceBuffer<float> y(p.n);
  const Counts counts = counts_for_budget([&] { on.launch(y.data()); });
  // A, and two row numbers for each thread and tile.
  const int64_t numbers = int64_t{p.blocks()} * p.tiles() * COLUMNS * 2;
  check_budget("bytes loaded", counts.loads.bytes,
               static_cast<int64_t>(p.A.size() * sizeof(float) + numbers * sizeof(int64_t)));
  check_budget("bytes stored", counts.stores.bytes,
               static_cast<int64_t>(p.blocks() * p.n * sizeof(float)));
}

}  // namespace tutorial::exercise
