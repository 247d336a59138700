// A failed comparison: the facts that its report and its likely cause are made of. Private to the
// comparison: failure*.cpp, *cause*.cpp, compare.cpp and freivalds.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"

namespace tutorial::detail {

/// An element of the output.
struct Place {
  int64_t batch = 0, row = 0, col = 0;
};

/// The elements that were checked: those of all rows, or of some. Element i of all `size()` is
/// element i of `want`.
struct Checked {
  std::span<const float> got;  // the whole output
  const Expected& want;
  std::span<const int64_t> rows;  // of batch·rows in all
  const Layout& layout;

  int64_t size() const { return static_cast<int64_t>(rows.size()) * layout.cols; }
  Place place(int64_t i) const {
    const int64_t row = rows[i / layout.cols];
    return {row / layout.rows, row % layout.rows, i % layout.cols};
  }
  /// The element at a place of a matrix, or -1 if it is outside of that or was not checked.
  int64_t find(Place place) const;
  /// The same element's number in the whole output.
  int64_t element(int64_t i) const { return rows[i / layout.cols] * layout.cols + i % layout.cols; }
  float got_at(int64_t i) const { return got[element(i)]; }
  double want_at(int64_t i) const { return want.value[i]; }
  double bound_at(int64_t i) const { return want.bound[i]; }
};

/// True for the very NaN that DeviceBuffer fills memory with.
bool is_poison(float value);

/// Which tiles are wrong, seen over all matrices of the batch.
enum class Pattern {
  every,
  all_but_first,
  last_row,
  last_col,
  last_corner,
  last_row_and_col,
  some,
};

/// The output in tiles, one block's work each. If the kernel's tile is not known, the matrix is cut
/// into as many parts as the map can show.
struct Tiles {
  Tiles(const Checked& checked, std::span<const int64_t> wrong_elements);

  bool known;
  int64_t tile_rows, tile_cols;  // elements of one tile
  int64_t down, across;          // tiles of one matrix
  // A count for each tile, in order of batch, row, column of tiles.
  std::vector<int64_t> checked, wrong;
  Pattern pattern;

  int64_t index(Place place) const {
    return (place.batch * down + place.row / tile_rows) * across + place.col / tile_cols;
  }

 private:
  Pattern find_pattern() const;
};

struct Failure {
  Failure(const Checked& all, std::vector<int64_t> wrong_elements);

  const Checked& checked;
  std::vector<int64_t> wrong;  // the elements that are, in order; at least one
  int64_t worst;               // the element most out of bound; a finite one if there is any
  int64_t never_written = 0;   // how many of the wrong are poison
  // The smallest part of the output that holds all wrong elements: first and last place.
  Place first, last;
  Tiles tiles;

  double got(int64_t i) const { return checked.got_at(i); }
  double want(int64_t i) const { return checked.want_at(i); }
  double bound(int64_t i) const { return checked.bound_at(i); }
};

/// The whole report.
std::string failure_report(const Failure& failure);
/// What most likely causes a failure of this pattern; "" if nothing is known.
std::string likely_cause(const Failure& failure);
/// The same, from values that belong elsewhere or are not there at all.
std::string cause_by_value(const Failure& failure);
/// The same, from what all wrong values have in common: NaN, zero, a multiple.
std::string cause_by_kind_of_value(const Failure& failure);

/// Knows one pattern. Gives a sentence, or "" when the pattern is not there.
using Cause = std::string (*)(const Failure&);
/// The sentence of the first that applies.
std::string first_cause(const Failure& failure, std::initializer_list<Cause> causes);

/// "1.23457", as many digits as a reader compares by eye; "nan", "-inf".
std::string number(double value, int digits = 6);
/// "rows 128-129", "row 5".
std::string range(const char* one, int64_t first, int64_t last);

}  // namespace tutorial::detail
