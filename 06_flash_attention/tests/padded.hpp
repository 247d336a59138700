// Padded batches: sequences with lengths of their own, for the tests of the parts any_shape,
// tensor_cores and hopper.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention {

/// Lengths of sequences, for launchers.
class DeviceLengths {
 public:
  explicit DeviceLengths(const Attention& on_host)
      : queries_(copy(on_host.lengths.queries, on_host.B)),
        keys_(copy(on_host.lengths.keys, on_host.B)) {}
  /// The shape with those on the device in place of those on the host.
  Attention of(Attention shape) const {
    if (shape.lengths.queries) shape.lengths.queries = queries_.data();
    if (shape.lengths.keys) shape.lengths.keys = keys_.data();
    return shape;
  }

 private:
  static DeviceBuffer<int64_t> copy(const int64_t* lengths, int64_t B) {
    return DeviceBuffer<int64_t>(std::vector<int64_t>(lengths, lengths ? lengths + B : lengths));
  }
  DeviceBuffer<int64_t> queries_, keys_;
};

/// The problem with NaN in all that lies past a length.
inline Problem with_padding(Problem problem) {
  const Attention& s = problem.shape;
  const auto pad = [&](std::vector<float>& values, int64_t heads, int64_t T, bool keys) {
    for (int64_t b = 0; b < s.B; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = keys ? s.sequence(b).Tk : s.sequence(b).Tq; t < T; ++t)
          for (int64_t d = 0; d < s.HS; ++d)
            values[((b * heads + h) * T + t) * s.HS + d] = std::nanf("");
  };
  pad(problem.q, s.NH, s.Tq, false);
  pad(problem.k, s.NH_kv, s.Tk, true);
  pad(problem.v, s.NH_kv, s.Tk, true);
  return problem;
}

/// Calls check for padded batches, or for two of them, whose tiles have `Br` queries and `Bc` keys.
inline void for_lengths(int64_t Br, int64_t Bc, int64_t HS, bool all,
                        const std::function<void(const Problem&)>& check) {
  const int64_t T = std::max(Br, Bc) + 22;
  const std::vector<int64_t> of_tiles = {0, 1, Bc - 1, Bc, Bc + 1, T},
                             of_queries = {T, Br + 1, Br, Br - 1, 5, 0},
                             bad = {-3, T + 9, 7, T, T, 2 * T};
  const auto try_one = [&](const Attention& shape) { check(with_padding(normal_problem(shape))); };
  Attention shape = {.B = 6, .NH = all ? 2 : 1, .Tq = T, .Tk = T, .HS = HS};
  shape.lengths = {of_tiles.data(), of_tiles.data()};
  try_one(shape);  // padded sequences, causal
  shape.causal = false;
  shape.lengths = {of_queries.data(), of_tiles.data()};
  try_one(shape);
  if (!all) return;
  shape.lengths = {bad.data(), bad.data()};
  try_one(shape);
  shape.lengths = {.keys = of_tiles.data()};  // as in decoding: few queries, all of them there
  shape.Tq = 3;
  try_one(shape);
  shape.causal = true;
  try_one(shape);
  const std::vector<int64_t> few = {3, 0, 2, 1, 3, 3};
  shape.lengths = {few.data(), of_tiles.data()};
  try_one(shape);
  shape.lengths = {.queries = few.data()};
  try_one(shape);
}

}  // namespace tutorial::flash_attention
