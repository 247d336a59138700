// What the tests of chapter 06 and its parts share: problems in fp32.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/data/hard_rows.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention {

inline constexpr float INF = std::numeric_limits<float>::infinity();

struct Problem {
  Attention shape;
  std::vector<float> q, k, v;
};

inline Problem normal_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  return {shape, make_values({B, NH, Tq, HS}, Init::normal, 1),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 2),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 3)};
}

/// Adds `add(j)` to the score of key j, for all queries: q[0] = 1, and k[0] = √HS·add(j).
inline Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add) {
  Problem problem = normal_problem(shape);
  const auto HS = static_cast<size_t>(shape.HS);
  for (size_t i = 0; i < problem.q.size(); i += HS) problem.q[i] = 1;
  for (size_t j = 0; j < problem.k.size(); j += HS)
    problem.k[j] = std::sqrt(static_cast<float>(HS)) * add(static_cast<int64_t>(j / HS) % shape.Tk);
  return problem;
}

/// Scores that rise, fall, jump or are −∞, in every combination of some segments of `width` keys.
inline Problem hard_problem(int segments, int64_t width, int64_t HS, bool causal = false) {
  const HardScores hard = hard_scores(segments, width, HS);
  return {{.NH = hard.heads,
           .NH_kv = hard.heads,
           .Tq = hard.queries,
           .Tk = hard.keys,
           .HS = HS,
           .causal = causal},
          hard.q,
          hard.k,
          make_values({hard.heads, hard.keys, HS}, Init::normal, 3)};
}

/// All rows.
inline Reference reference(const Problem& problem) {
  return reference(problem.shape, problem.q, problem.k, problem.v, all_rows(problem.shape.rows()));
}

/// "B=1 NH=2 …", for messages.
inline std::string text(const Attention& s) {
  return "B=" + std::to_string(s.B) + " NH=" + std::to_string(s.NH) +
         " NH_kv=" + std::to_string(s.NH_kv) + " Tq=" + std::to_string(s.Tq) +
         " Tk=" + std::to_string(s.Tk) + " HS=" + std::to_string(s.HS) +
         (s.causal ? " causal" : " full");
}

}  // namespace tutorial::flash_attention
