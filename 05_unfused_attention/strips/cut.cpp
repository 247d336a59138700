// How the queries are cut into strips.
#include <algorithm>

#include "common/kernel/grid.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {
namespace {

constexpr int64_t TILE = 128;  // cuBLAS's kernels compute about 128×128 elements a block
// With so many rows of scores a product keeps an H200 busy: tried, docs/notes/05.md says what.
constexpr int64_t ROWS_ALONE = 24576;
constexpr int64_t ROWS_TOGETHER = 12288;

}  // namespace

Cut cut_of(const Attention& a, int64_t most_streams) {
  if (a.elements() == 0) return {};
  if (!a.causal) return {.height = a.T};  // every query sees every key
  const int64_t rows = most_streams == 1 ? ROWS_ALONE : ROWS_TOGETHER;
  const int64_t rule = TILE * ceil_div(rows, TILE * a.heads());
  const int64_t height = std::min(a.T, a.strip_height > 0 ? a.strip_height : rule);
  // Not more streams than there are whole strips: the scores of each have their own part of preatt.
  return {.height = height, .streams = std::clamp<int64_t>(a.T / height, 1, most_streams)};
}

std::vector<Strip> strips_of(const Attention& a, const Cut& cut) {
  std::vector<Strip> strips;
  if (a.elements() == 0) return strips;
  for (int64_t query = 0; query < a.T; query += cut.height) {
    const int64_t end = std::min(query + cut.height, a.T);
    strips.push_back({.first_query = query, .queries = end - query, .keys = end});
  }
  return strips;
}

}  // namespace tutorial::unfused_attention::strips
