// How steps 8 to 12 cut the work into pieces. Host code alone.
#include <algorithm>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace unfused {

using namespace tutorial;
namespace {

constexpr int64_t TILE = 128;  // cuBLAS's kernels compute about 128×128 elements a block

int64_t l2_bytes() {
  int device = 0, bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
  return bytes;
}

/// Strips of so many tiles that all heads together have at least `rows` rows.
int64_t strip_of(const Attention& a, int64_t rows) {
  if (!a.causal) return a.T;
  const int64_t height = TILE * ceil_div(rows, TILE * a.heads());
  return std::min(a.T, a.strip > 0 ? a.strip : height);
}

}  // namespace

Cut cut_of(const Attention& a, unsigned cutting) {
  if (a.elements() == 0) return {};
  Cut cut = {.group = a.heads(), .strip = a.T};
  if (cutting == HEAD_GROUPS) {
    // Compared as doubles: 4·T·T may be too much for an integer.
    const double heads = static_cast<double>(l2_bytes()) / 2 / (4.0 * a.T * a.T);
    const auto fit = static_cast<int64_t>(std::min<double>(heads, a.heads()));
    cut.group = std::clamp<int64_t>(a.group > 0 ? a.group : fit, 1, a.heads());
  }
  if (cutting == STRIPS) cut.strip = strip_of(a, 24576);
  if (cutting == LOW_STRIPS) {
    cut.strip = strip_of(a, 12288);
    // Not more than there are whole strips: each lane's scores have their own part of preatt.
    cut.lanes = std::clamp<int64_t>(a.T / cut.strip, 1, 4);
  }
  return cut;
}

std::vector<Piece> pieces(const Attention& a, const Cut& cut) {
  std::vector<Piece> all;
  if (a.elements() == 0) return all;
  for (int64_t query = 0; query < a.T; query += cut.strip)
    for (int64_t head = 0; head < a.heads(); head += cut.group) {
      const int64_t end = std::min(query + cut.strip, a.T);
      all.push_back({.strip = query / cut.strip,
                     .first_head = head,
                     .heads = std::min(cut.group, a.heads() - head),
                     .first_query = query,
                     .queries = end - query,
                     .keys = a.causal ? end : a.T});
    }
  return all;
}

int64_t multiplied_keys(const Attention& a, int64_t query, unsigned cutting) {
  const int64_t strip = cut_of(a, cutting).strip;
  return a.causal && strip > 0 ? std::min(a.T, (query / strip + 1) * strip) : a.T;
}

}  // namespace unfused
