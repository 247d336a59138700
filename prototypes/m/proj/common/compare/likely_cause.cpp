// The likely cause of a failure, from the places where it is wrong.
//
// Each function below knows one pattern. It gives a sentence, or "" when the pattern is not there.
#include <algorithm>

#include "common/compare/failure.hpp"

namespace tutorial::detail {
namespace {

bool all_never_written(const Failure& f) {
  return f.never_written == static_cast<int64_t>(f.wrong.size());
}

/// What blockIdx calls the rows, and the columns.
const char* row_axis(const Failure& f) {
  return f.checked.layout.tile.x_down ? "x" : "y";
}
const char* col_axis(const Failure& f) {
  return f.checked.layout.tile.x_down ? "y" : "x";
}

std::string only_later_batches(const Failure& f) {
  if (f.first.batch == 0) return "";
  if (all_never_written(f))
    return "the first matrix of the batch is right and later ones are not written: the grid's z "
           "size, or the batch offset of the output";
  return "the first matrix of the batch is right and later ones are not: the batch offset or "
         "stride of an input or of the output";
}

std::string all_but_first_tile(const Failure& f) {
  if (!f.tiles.known || f.tiles.pattern != Pattern::all_but_first) return "";
  return "only the first tile is right: an index leaves out blockIdx * blockDim, or the grid is "
         "one block";
}

/// The sentence for a strip of tiles along an edge.
std::string edge(const Failure& f, const char* one, const char* axis, bool ragged) {
  const std::string ones = std::string("the last ") + one + "s";
  if (all_never_written(f))
    return ones + " are never written: the grid's " + axis + " size is rounded down, blockIdx." +
           axis + " is left out, or the guard on the store is too strict";
  if (ragged)
    return ones + " are wrong, where the tile reaches over the edge: the " + one +
           " guard on a load or on the store, or what the tile holds beyond the edge";
  return ones + " are wrong: the " + one + " bound, or the grid's " + axis + " size";
}

std::string last_tiles(const Failure& f) {
  if (!f.tiles.known) return "";
  const Layout& layout = f.checked.layout;
  const bool ragged_rows = layout.rows % f.tiles.tile_rows != 0;
  const bool ragged_cols = layout.cols % f.tiles.tile_cols != 0;
  switch (f.tiles.pattern) {
    case Pattern::last_row:
      return edge(f, "row", row_axis(f), ragged_rows);
    case Pattern::last_col:
      return edge(f, "column", col_axis(f), ragged_cols);
    case Pattern::last_corner:
      return "only the last tile is wrong: the row guard and the column guard together (|| for "
             "&&?)";
    case Pattern::last_row_and_col:
      return all_never_written(f)
                 ? "the tiles at the edge are never written: the grid's size is rounded down, or "
                   "the guard on the store is too strict"
                 : "the tiles at the edge are wrong: the guards on loads and store, or what a tile "
                   "holds beyond the edge";
    default:
      return "";
  }
}

std::string partly_written(const Failure& f) {
  if (f.never_written == 0) return "";
  const Tiles& tiles = f.tiles;
  bool whole_tiles = tiles.known;
  for (size_t tile = 0; tile < tiles.wrong.size(); ++tile)
    if (tiles.wrong[tile] != 0 && tiles.wrong[tile] != tiles.checked[tile]) whole_tiles = false;
  if (!all_never_written(f))
    return "some elements are never written and others are wrong: an index sends results to the "
           "wrong place";
  if (whole_tiles)
    return "whole tiles are never written: the grid is too small, or blocks return before they "
           "store";
  return "some elements are never written: a guard drops them, or the threads of a block do not "
         "cover the tile";
}

/// Whole rows or whole columns are wrong, and others are right. A few elements may be right by
/// chance.
std::string whole_lines(const Failure& f) {
  const int64_t rows = static_cast<int64_t>(f.checked.rows.size());
  const int64_t cols = f.checked.layout.cols;
  std::vector<int64_t> in_row(static_cast<size_t>(rows)), in_col(static_cast<size_t>(cols));
  for (int64_t i : f.wrong) {
    ++in_row[i / cols];
    ++in_col[i % cols];
  }
  const auto whole = [](const std::vector<int64_t>& wrong, int64_t length) {
    return length > 1 && std::count(wrong.begin(), wrong.end(), 0) > 0 &&
           std::all_of(wrong.begin(), wrong.end(),
                       [&](int64_t count) { return count == 0 || count >= 0.9 * length; });
  };
  if (whole(in_row, cols))
    return "whole rows are wrong and others are right: what is found once a row (an index, a "
           "maximum, a sum, a mask)";
  if (whole(in_col, rows))
    return "whole columns are wrong and others are right: what is found once a column (an index, a "
           "load of the right-hand matrix)";
  return "";
}

/// In every tile the same part is wrong.
std::string same_part_of_each_tile(const Failure& f) {
  const Tiles& tiles = f.tiles;
  if (!tiles.known || tiles.pattern != Pattern::every || tiles.wrong.size() < 2) return "";
  Place low{0, tiles.tile_rows, tiles.tile_cols}, high{0, 0, 0};
  for (int64_t i : f.wrong) {
    const Place place = f.checked.place(i);
    low.row = std::min(low.row, place.row % tiles.tile_rows);
    high.row = std::max(high.row, place.row % tiles.tile_rows);
    low.col = std::min(low.col, place.col % tiles.tile_cols);
    high.col = std::max(high.col, place.col % tiles.tile_cols);
  }
  // A result may be smaller than a tile.
  const Layout& layout = f.checked.layout;
  std::string part;
  if (high.row - low.row + 1 < std::min(tiles.tile_rows, layout.rows))
    part = range("row", low.row, high.row);
  if (high.col - low.col + 1 < std::min(tiles.tile_cols, layout.cols))
    part += (part.empty() ? "" : ", ") + range("column", low.col, high.col);
  if (part.empty()) return "";
  return "the same part of every tile is wrong (" + part +
         "): how the threads of a block share the tile among them";
}

std::string slightly_out(const Failure& f) {
  double most = 0;
  for (int64_t i : f.wrong) {
    if (!std::isfinite(f.got(i)) || !std::isfinite(f.want(i)) || f.bound(i) == 0) return "";
    most = std::max(most, std::abs(f.got(i) - f.want(i)) / f.bound(i));
  }
  if (most > 100) return "";
  return "every error is small (at most " + number(most, 2) +
         " bounds): the last terms of a sum are dropped, or something is rounded to fewer bits";
}

std::string scattered(const Failure& f) {
  if (static_cast<int64_t>(f.wrong.size()) * 20 > f.checked.size()) return "";
  return "few elements are wrong, without a pattern: a race (a __syncthreads() is missing) gives "
         "such results; does the next run fail elsewhere? The CPU backend and compute-sanitizer "
         "find races";
}

std::string everywhere(const Failure& f) {
  if (static_cast<int64_t>(f.wrong.size()) * 2 < f.checked.size()) return "";
  return "nearly everything is wrong, so look at what all threads share: the strides, the bounds "
         "of the loop, the barriers; --init identity or arange of a chapter's program shows which "
         "element arrives where";
}

}  // namespace

std::string first_cause(const Failure& failure, std::initializer_list<Cause> causes) {
  for (Cause cause : causes)
    if (std::string text = cause(failure); !text.empty()) return text;
  return "";
}

// What is special stands before what is general.
std::string likely_cause(const Failure& failure) {
  return first_cause(failure, {cause_by_value, only_later_batches, all_but_first_tile, last_tiles,
                               partly_written, cause_by_kind_of_value, whole_lines,
                               same_part_of_each_tile, slightly_out, scattered, everywhere});
}

}  // namespace tutorial::detail
