// The facts of a failed comparison.
#include "common/compare/failure.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace tutorial::detail {
namespace {

constexpr int64_t kMapRows = 16, kMapCols = 40;  // parts that stand in for unknown tiles
constexpr int64_t kEndless = 1 << 30;

int64_t ceil_div(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// Larger is worse. What is not finite comes last: a number tells more than a NaN.
double badness(const Checked& checked, int64_t i) {
  const double error = std::abs(checked.got_at(i) - checked.want_at(i));
  if (!std::isfinite(error)) return -1;
  return error / std::max(checked.bound_at(i), 1e-300);
}

}  // namespace

bool is_poison(float value) {
  return std::bit_cast<uint32_t>(value) == 0xffffffffu;
}

int64_t Checked::find(Place place) const {
  if (place.row < 0 || place.row >= layout.rows || place.col < 0 || place.col >= layout.cols)
    return -1;
  const int64_t row = place.batch * layout.rows + place.row;
  // Most often all rows are checked, and a row is its own index.
  if (row < static_cast<int64_t>(rows.size()) && rows[row] == row)
    return row * layout.cols + place.col;
  const auto found = std::find(rows.begin(), rows.end(), row);
  return found == rows.end() ? -1 : (found - rows.begin()) * layout.cols + place.col;
}

Tiles::Tiles(const Checked& all, std::span<const int64_t> wrong_elements) {
  const Layout& layout = all.layout;
  known = layout.tile.rows > 0;
  tile_rows = known ? layout.tile.rows : std::max<int64_t>(1, ceil_div(layout.rows, kMapRows));
  tile_cols = known ? layout.tile.cols : std::max<int64_t>(1, ceil_div(layout.cols, kMapCols));
  // A tile of whole rows: none given, or more than any row has.
  if (tile_cols <= 0 || tile_cols >= kEndless) tile_cols = std::max<int64_t>(1, layout.cols);
  down = ceil_div(layout.rows, tile_rows);
  across = ceil_div(layout.cols, tile_cols);

  checked.assign(static_cast<size_t>(layout.batch * down * across), 0);
  wrong = checked;
  for (size_t i = 0; i < all.rows.size(); ++i) {
    const int64_t tile = index(all.place(static_cast<int64_t>(i) * layout.cols));
    for (int64_t col = 0; col < across; ++col)
      checked[tile + col] += std::min(tile_cols, layout.cols - col * tile_cols);
  }
  for (int64_t i : wrong_elements) ++wrong[index(all.place(i))];
  pattern = find_pattern();
}

Pattern Tiles::find_pattern() const {
  bool first_wrong = false, inner_right = false;
  bool in_last_row = true, in_last_col = true, at_edge = true, corner_wrong = false;
  for (size_t tile = 0; tile < wrong.size(); ++tile) {
    if (checked[tile] == 0) continue;
    const int64_t row = static_cast<int64_t>(tile) / across % down;
    const int64_t col = static_cast<int64_t>(tile) % across;
    if (wrong[tile] == 0) {
      if (row > 0 || col > 0) inner_right = true;
      continue;
    }
    if (row == 0 && col == 0) first_wrong = true;
    if (row < down - 1) in_last_row = false;
    if (col < across - 1) in_last_col = false;
    if (row < down - 1 && col < across - 1) at_edge = false;
    if (row == down - 1 && col == across - 1) corner_wrong = true;
  }
  if (first_wrong) return inner_right ? Pattern::some : Pattern::every;
  // From here on the first tile is right, so there are at least two.
  if (in_last_row && in_last_col && down > 1 && across > 1) return Pattern::last_corner;
  if (in_last_row && down > 1) return Pattern::last_row;
  if (in_last_col && across > 1) return Pattern::last_col;
  if (!inner_right) return Pattern::all_but_first;
  if (at_edge && corner_wrong && down > 1 && across > 1) return Pattern::last_row_and_col;
  return Pattern::some;
}

Failure::Failure(const Checked& all, std::vector<int64_t> wrong_elements)
    : checked(all), wrong(std::move(wrong_elements)), worst(wrong.front()), tiles(all, wrong) {
  first = last = checked.place(wrong.front());
  for (int64_t i : wrong) {
    if (badness(checked, i) > badness(checked, worst)) worst = i;
    if (is_poison(checked.got_at(i))) ++never_written;
    const Place place = checked.place(i);
    first = {std::min(first.batch, place.batch), std::min(first.row, place.row),
             std::min(first.col, place.col)};
    last = {std::max(last.batch, place.batch), std::max(last.row, place.row),
            std::max(last.col, place.col)};
  }
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "nan";  // printf would show a sign that means nothing
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string range(const char* one, int64_t first, int64_t last) {
  if (first == last) return one + (" " + std::to_string(first));
  const std::string word = one;
  return word + (word.ends_with("ch") ? "es " : "s ") + std::to_string(first) + "–" +
         std::to_string(last);
}

}  // namespace tutorial::detail
