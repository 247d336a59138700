// Freivalds' check: is C = A·B, at the cost of a few matrix-vector products?
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/compare/compare.hpp"
#include "common/compare/failure.hpp"
#include "common/data/random.hpp"

namespace tutorial {
namespace {

/// matrix · vector, in double. With `absolute`, of the matrix's absolute values.
std::vector<double> times(std::span<const float> matrix, const std::vector<double>& vector,
                          int64_t rows, bool absolute = false) {
  const size_t cols = vector.size();
  std::vector<double> product(static_cast<size_t>(rows));
  for (size_t row = 0; row < product.size(); ++row) {
    const float* values = matrix.data() + row * cols;
    double sum = 0;
    for (size_t col = 0; col < cols; ++col)
      sum += (absolute ? std::abs(values[col]) : values[col]) * vector[col];
    product[row] = sum;
  }
  return product;
}

double length(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

/// "rows 0–3, row 7, 12 more".
std::string row_ranges(const std::vector<int64_t>& rows) {
  constexpr int kShown = 4;
  std::string text;
  int shown = 0;
  for (size_t i = 0; i < rows.size();) {
    if (shown++ == kShown) return text + ", " + std::to_string(rows.size() - i) + " more";
    size_t end = i;
    while (end + 1 < rows.size() && rows[end + 1] == rows[end] + 1) ++end;
    text += (i == 0 ? "" : ", ") + detail::range("row", rows[i], rows[end]);
    i = end + 1;
  }
  return text;
}

/// One row's check: the sum of its elements, each with a random sign.
struct Row {
  int64_t index;
  double got = 0, want = 0, bound = 0;

  double error() const { return std::abs(got - want); }
  /// Larger is worse. A number tells more than a NaN.
  double badness() const { return std::isfinite(error()) ? error() / std::max(bound, 1e-300) : -1; }
};

std::string report(const std::vector<int64_t>& wrong, const Row& worst, int64_t M,
                   const Layout& layout) {
  const std::string name = std::to_string(worst.index);
  std::string text = "  " + std::to_string(wrong.size()) + " of " + std::to_string(M) +
                     " rows are wrong (Freivalds' check: the sum of a row's elements, each with a "
                     "random sign); the worst is row " +
                     name + " of " + layout.name + ": got " + detail::number(worst.got) +
                     ", want " + detail::number(worst.want) + ", bound " +
                     detail::number(worst.bound, 2) + "\n  wrong: " + row_ranges(wrong) + "\n";
  const int64_t tile = layout.tile.rows;
  if (tile > 0) {
    const int64_t last = (M - 1) / tile;
    text += "  row " + name + " belongs to " +
            (layout.tile.names_block
                 ? std::string("blocks with blockIdx.") + (layout.tile.x_down ? "x" : "y") + " = "
                 : "row of tiles ") +
            std::to_string(worst.index / tile);
    if (last > 0 && wrong.front() / tile == last) text += "   ← only the last row of tiles";
    text += "\n";
  }
  return text;
}

}  // namespace

// The bound. Let e_j be the rounding errors of one row of C. They are fixed before the signs x_j
// are drawn, so |Σ x_j e_j| is at most Σ|e_j|, and above t·√Σe_j² with probability at most
// 2·exp(-t²/2) (Hoeffding 1963). With t = 7 that is 5e-11 a row. Further |e_j| <= γ_K Σ_k
// |a_k||b_kj|
// <= γ_K ‖a‖ ‖b_j‖, which makes √Σe_j² <= γ_K ‖a‖ ‖B‖. The smaller of the two bounds is used.
Comparison freivalds(std::span<const float> A, std::span<const float> B, std::span<const float> C,
                     int64_t M, int64_t N, int64_t K, uint64_t seed, const Layout& layout,
                     double bound_factor) {
  if (A.size() != static_cast<size_t>(M * K) || B.size() != static_cast<size_t>(K * N) ||
      C.size() != static_cast<size_t>(M * N))
    throw std::logic_error("freivalds: the sizes of A, B and C do not fit");
  constexpr double kDeviations = 7;

  std::vector<double> signs;
  for (float value : make_values({N}, Init::uniform, seed)) signs.push_back(value < 0 ? -1 : 1);
  const std::vector<double> ones(signs.size(), 1.0);
  const std::vector<double> got = times(C, signs, M);
  const std::vector<double> want = times(A, times(B, signs, K), M);
  const std::vector<double> magnitude = times(A, times(B, ones, K, true), M, true);
  const double length_of_B = length(B);
  // The check itself rounds in double: in C·x, in B·x and in A·(B·x).
  const double own_gamma = 3 * gamma_bound(N + K, 0x1p-53);

  Comparison result;
  std::vector<int64_t> wrong;
  Row worst{.index = -1};
  for (int64_t index = 0; index < M; ++index) {
    const double spread = kDeviations * length(A.subspan(index * K, K)) * length_of_B;
    const Row row{.index = index,
                  .got = got[index],
                  .want = want[index],
                  .bound = bound_factor * gamma_bound(K) * std::min(magnitude[index], spread) +
                           own_gamma * magnitude[index]};
    if (std::isfinite(row.error()) && (row.error() > result.max_error || result.bound == 0)) {
      result.max_error = row.error();
      result.bound = row.bound;
    }
    if (std::isfinite(row.error()) && row.error() <= row.bound) continue;
    if (worst.index < 0 || row.badness() > worst.badness()) worst = row;
    wrong.push_back(index);
  }
  result.ok = wrong.empty();
  result.wrong = static_cast<int64_t>(wrong.size());
  if (!result.ok) result.report = report(wrong, worst, M, layout);
  return result;
}

}  // namespace tutorial
