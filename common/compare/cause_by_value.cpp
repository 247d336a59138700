// Likely causes that the wrong values themselves give away: NaN, infinity, zero, a multiple of what
// is wanted, or what belongs elsewhere.
#include <algorithm>
#include <optional>

#include "common/compare/failure.hpp"

namespace tutorial::detail {
namespace {

template <class Predicate>
bool every_wrong(const Failure& f, Predicate predicate) {
  return std::all_of(f.wrong.begin(), f.wrong.end(), predicate);
}

std::string nothing_written(const Failure& f) {
  for (int64_t i = 0; i < f.checked.size(); ++i)
    if (!is_poison(f.checked.got_at(i))) return "";
  return "nothing was written: the kernel has no store yet, the launch failed or has an empty "
         "grid, "
         "every thread returns early, the result goes elsewhere, or the kernel adds to what it "
         "finds there (+= for =)";
}

/// (What was never written is NaN as well, and is told before.)
std::string only_nans(const Failure& f) {
  if (!every_wrong(f, [&](int64_t i) { return std::isnan(f.got(i)); })) return "";
  if (every_wrong(f, [&](int64_t i) { return std::isinf(f.want(i)); }))
    return "NaN where infinity is wanted: an infinity is subtracted from itself or multiplied by 0";
  return "only NaNs are wrong: ∞ − ∞ or 0/0 (a row that is masked in full?), or a sum that "
         "includes memory that nothing wrote";
}

std::string misplaced_infinity(const Failure& f) {
  const auto missing = [&](int64_t i) { return std::isinf(f.want(i)) && std::isfinite(f.got(i)); };
  const auto surplus = [&](int64_t i) { return std::isfinite(f.want(i)) && std::isinf(f.got(i)); };
  if (every_wrong(f, missing))
    return "the fill value is missing where it is wanted: some masked elements are not masked";
  if (every_wrong(f, surplus))
    return "infinity where a number is wanted: too much is masked, or exp() of a large number "
           "overflows";
  if (every_wrong(f, [&](int64_t i) { return missing(i) || surplus(i); }))
    return "the mask is at the wrong elements: inverted, transposed, or read with the wrong stride";
  return "";
}

std::string only_zeros(const Failure& f) {
  if (!every_wrong(f, [&](int64_t i) { return f.got(i) == 0; })) return "";
  return "every wrong element is 0: the loop adds nothing, or its sum is not what is stored";
}

std::string poison_added(const Failure& f) {
  // A kernel that adds to its output finds NaN there: all NaN, though all written.
  if (static_cast<int64_t>(f.wrong.size()) != f.checked.size()) return "";
  if (!every_wrong(f, [&](int64_t i) { return std::isnan(f.got(i)); })) return "";
  return "every element is NaN: the kernel adds to an output that nothing set (+= for =), or "
         "starts from memory that nothing wrote";
}

/// The output as it would lie in memory if rows and columns were exchanged.
std::string transposed(const Failure& f) {
  const Layout& layout = f.checked.layout;
  const auto matches_transpose = [&](int64_t i) {
    const Place place = f.checked.place(i);
    const int64_t there = (place.batch * layout.cols + place.col) * layout.rows + place.row;
    return matches(f.checked.got[there], f.want(i), f.bound(i));
  };
  for (int64_t i = 0; i < f.checked.size(); ++i)
    if (!matches_transpose(i)) return "";
  return "the result is right but transposed: row and column are exchanged in the store's index, "
         "or its stride is the number of rows";
}

/// The factor k for which got = k · want at every wrong element, if there is one. (No value that is
/// not finite is within the tolerance; neither is any where zeros are wanted, as 0·∞ is NaN.)
std::optional<double> common_factor(const Failure& f) {
  if (f.wrong.size() < 3) return {};
  const int64_t pivot = *std::max_element(f.wrong.begin(), f.wrong.end(), [&](auto a, auto b) {
    return std::abs(f.want(a)) < std::abs(f.want(b));
  });
  const double factor = f.got(pivot) / f.want(pivot);
  // The pivot's own rounding makes the factor uncertain by its bound over its value.
  const double uncertain = f.bound(pivot) / std::abs(f.want(pivot));
  const auto is_multiple = [&](int64_t i) {
    const double tolerance = std::max(1.0, std::abs(factor)) *
                             (f.bound(i) + (uncertain + 0x1p-22) * std::abs(f.want(i)));
    return std::abs(f.got(i) - factor * f.want(i)) <= tolerance;
  };
  if (factor == 0 || uncertain > 0.1 || !every_wrong(f, is_multiple)) return {};
  return factor;
}

std::string scaled(const Failure& f) {
  const std::optional<double> factor = common_factor(f);
  if (!factor || std::abs(*factor - 1) < 1e-3) return "";
  if (std::abs(*factor + 1) < 1e-3) return "every wrong element has the wrong sign";
  return "every wrong element is " + number(*factor, 4) + " times what it should be (a factor of " +
         number(1 / *factor, 4) + " is missing): a scale or a divisor is left out or applied twice";
}

/// A wrong element that holds what belongs at another place.
struct Move {
  Place (*from)(Place here, const Tiles& tiles);
  const char* cause;
};
constexpr Move kMoves[] = {
    {[](Place p, const Tiles&) {
       return Place{0, p.row, p.col};
     },
     "every matrix of the batch holds the first one's result: the batch offset is left out where "
     "an input is read"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, 0, p.col};
     },
     "every wrong row holds row 0's result: the row is left out where an input is read"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, p.row, 0};
     },
     "every wrong column holds column 0's result: the column is left out where an input is read"},
    {[](Place p, const Tiles& t) {
       if (!t.known) return p;
       return Place{p.batch, p.row % t.tile_rows, p.col % t.tile_cols};
     },
     "every wrong tile holds the first tile's result: blockIdx is left out where the inputs are "
     "read"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, p.row + 1, p.col};
     },
     "every wrong element holds what belongs one row further down: the row is off by one"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, p.row - 1, p.col};
     },
     "every wrong element holds what belongs one row further up: the row is off by one"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, p.row, p.col + 1};
     },
     "every wrong element holds what belongs one column to the right: the column is off by one"},
    {[](Place p, const Tiles&) {
       return Place{p.batch, p.row, p.col - 1};
     },
     "every wrong element holds what belongs one column to the left: the column is off by one"},
};

std::string moved(const Failure& f) {
  for (const Move& move : kMoves) {
    size_t seen = 0;
    const auto matches_source = [&](int64_t i) {
      const Place here = f.checked.place(i);
      const int64_t source = f.checked.find(move.from(here, f.tiles));
      if (source < 0) return true;  // outside, or not checked: says nothing
      ++seen;
      return std::isfinite(f.got(i)) && matches(f.got(i), f.want(source), f.bound(source));
    };
    // Two elements that agree by chance are unlikely; at least half must have been comparable.
    if (every_wrong(f, matches_source) && seen >= 2 && 2 * seen >= f.wrong.size())
      return move.cause;
  }
  return "";
}

}  // namespace

// In both lists the first that applies is told: what is special stands before what is general.

std::string cause_by_value(const Failure& failure) {
  return first_cause(failure,
                     {nothing_written, poison_added, misplaced_infinity, moved, transposed});
}

std::string cause_by_kind_of_value(const Failure& failure) {
  return first_cause(failure, {only_nans, only_zeros, scaled});
}

}  // namespace tutorial::detail
