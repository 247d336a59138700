// The report of a failed comparison, line by line.
#include <algorithm>

#include "common/compare/failure.hpp"

namespace tutorial::detail {
namespace {

constexpr size_t kShown = 4;                     // elements
constexpr int64_t kMapRows = 16, kMapCols = 40;  // characters

/// "C[129][17]"; with the batch first if there is one.
std::string element_name(const Failure& failure, int64_t i) {
  const Layout& layout = failure.checked.layout;
  const Place place = failure.checked.place(i);
  const std::string batch = layout.batch > 1 ? "[" + std::to_string(place.batch) + "]" : "";
  return layout.name + batch + "[" + std::to_string(place.row) + "][" + std::to_string(place.col) +
         "]";
}

/// "got -3.21, want 0.88". With more digits if both would read the same.
std::string got_and_want(const Failure& failure, int64_t i) {
  const double got = failure.got(i), want = failure.want(i);
  const int digits = number(got) == number(want) ? 9 : 6;
  const bool poison = is_poison(failure.checked.got_at(i));
  return "got " + number(got, digits) + (poison ? " (never written)" : "") + ", want " +
         number(want, digits);
}

std::string headline(const Failure& failure) {
  const Checked& checked = failure.checked;
  const int64_t all_rows = checked.layout.batch * checked.layout.rows;
  const int64_t rows = static_cast<int64_t>(checked.rows.size());
  const std::string some = rows == all_rows ? " elements"
                                            : " checked elements (" + std::to_string(rows) +
                                                  " of " + std::to_string(all_rows) + " rows)";
  return std::to_string(failure.wrong.size()) + " of " + std::to_string(checked.size()) + some +
         " are out of bound; the worst is " + element_name(failure, failure.worst) + ": " +
         got_and_want(failure, failure.worst) + ", bound " +
         number(failure.bound(failure.worst), 2) + "\n";
}

std::string first_few(const Failure& failure) {
  std::string text;
  for (size_t i = 0; i < std::min(kShown, failure.wrong.size()); ++i)
    text += (i == 0 ? "  first: " : "         ") + element_name(failure, failure.wrong[i]) + " " +
            got_and_want(failure, failure.wrong[i]) + "\n";
  return text;
}

/// Where all wrong elements lie, if that is less than everywhere.
std::string extent(const Failure& failure) {
  const Layout& layout = failure.checked.layout;
  std::string text;
  const auto add = [&](const char* one, int64_t first, int64_t last, int64_t count) {
    if (last - first + 1 == count) return;
    text += (text.empty() ? "" : ", ") + range(one, first, last) + " of " + std::to_string(count);
  };
  add("batch", failure.first.batch, failure.last.batch, layout.batch);
  add("row", failure.first.row, failure.last.row, layout.rows);
  add("column", failure.first.col, failure.last.col, layout.cols);
  return text.empty() ? "" : "  all of them in " + text + "\n";
}

std::string pattern_text(const Tiles& tiles) {
  switch (tiles.pattern) {
    case Pattern::every:
      return "every tile";
    case Pattern::all_but_first:
      return "all tiles but the first";
    case Pattern::last_row:
      return "only the last row of tiles";
    case Pattern::last_col:
      return "only the last column of tiles";
    case Pattern::last_corner:
      return "only the last tile";
    case Pattern::last_row_and_col:
      return "only the last row and the last column of tiles";
    case Pattern::some:
      break;
  }
  const auto positive = [](int64_t count) { return count > 0; };
  return std::to_string(std::count_if(tiles.wrong.begin(), tiles.wrong.end(), positive)) + " of " +
         std::to_string(std::count_if(tiles.checked.begin(), tiles.checked.end(), positive)) +
         " tiles";
}

/// A character for each tile of one matrix, or for several if there are too many: '#' if any is
/// wrong, '.' if all that were checked are right, '?' if none was checked.
std::vector<std::string> draw_map(const Tiles& tiles, int64_t batch, int64_t down_each,
                                  int64_t across_each) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < tiles.down; ++row) {
    if (row % down_each == 0)
      lines.emplace_back((tiles.across + across_each - 1) / across_each, '?');
    for (int64_t col = 0; col < tiles.across; ++col) {
      const int64_t tile = (batch * tiles.down + row) * tiles.across + col;
      char& mark = lines.back()[col / across_each];
      if (tiles.wrong[tile] > 0)
        mark = '#';
      else if (tiles.checked[tile] > 0 && mark == '?')
        mark = '.';
    }
  }
  return lines;
}

std::string map(const Failure& failure) {
  const Tiles& tiles = failure.tiles;
  const Layout& layout = failure.checked.layout;
  const int64_t batch = failure.checked.place(failure.worst).batch;
  const int64_t down_each = (tiles.down + kMapRows - 1) / kMapRows;
  const int64_t across_each = (tiles.across + kMapCols - 1) / kMapCols;

  const std::string size = std::to_string(tiles.tile_rows) + "×" + std::to_string(tiles.tile_cols);
  std::string label = "  tiles wrong";
  if (layout.batch > 1) label += " in batch " + std::to_string(batch);
  label += " (" + size + "):  ";
  size_t width = label.size() - 1;  // × is two bytes and one column

  std::vector<std::string> lines = draw_map(tiles, batch, down_each, across_each);
  // The note stands beside the last mark that shows a wrong tile; the worst element's is one.
  const auto is_wrong = [](const std::string& line) { return line.find('#') != line.npos; };
  const auto noted = std::find_if(lines.rbegin(), lines.rend(), is_wrong);
  std::string note = "   ← " + pattern_text(tiles);
  if (down_each > 1 || across_each > 1)
    note += "; a mark stands for " + std::to_string(down_each) + "×" + std::to_string(across_each);
  *noted += note;

  std::string text;
  for (size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? label : std::string(width, ' ')) + lines[i] + "\n";
  return text;
}

/// Which block and thread compute the worst element, from the tile that the step declares.
std::string owner(const Failure& failure) {
  const std::string known =
      owner_of(failure.checked.layout, failure.checked.element(failure.worst));
  return known.empty()
             ? ""
             : "  " + element_name(failure, failure.worst) + " belongs to " + known + "\n";
}

/// Which line wrote the worst element, where somebody knows.
std::string writer(const Failure& failure) {
  const Checked& checked = failure.checked;
  const Layout& layout = checked.layout;
  if (!layout.writer) return "";
  const std::string known = layout.writer(checked.element(failure.worst));
  return known.empty()
             ? ""
             : "  " + element_name(failure, failure.worst) + " was written by " + known + "\n";
}

}  // namespace

std::string failure_report(const Failure& failure) {
  const std::string cause = likely_cause(failure);
  return "  " + headline(failure) + first_few(failure) + extent(failure) + map(failure) +
         owner(failure) + (cause.empty() ? "" : "  likely: " + cause + "\n") + writer(failure);
}

}  // namespace tutorial::detail

std::string tutorial::owner_of(const Layout& layout, int64_t element) {
  const Tile& tile = layout.tile;
  if (tile.rows == 0 || !tile.names_block) return "";
  const int64_t tile_cols = tile.cols > 0 ? tile.cols : layout.cols;
  const int64_t batch = element / (layout.rows * layout.cols);
  const int64_t row = element / layout.cols % layout.rows, col = element % layout.cols;
  const auto pair = [&](int64_t down, int64_t across) {
    return tile.x_down ? std::to_string(down) + "," + std::to_string(across)
                       : std::to_string(across) + "," + std::to_string(down);
  };
  std::string text = "block (" + pair(row / tile.rows, col / tile_cols);
  if (batch > 0) text += "," + std::to_string(batch);
  text += ")";
  if (tile.thread_rows > 0 && tile.cols > 0) {
    const int parts = tile.thread_col_parts;
    text += ", thread (" +
            pair(row % tile.rows / tile.thread_rows,
                 col % (tile.cols / parts) / (tile.thread_cols / parts)) +
            ")";
  }
  return text;
}
