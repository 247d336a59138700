#include <algorithm>
#include <cmath>
#include <limits>

#include "05_unfused_attention.hpp"
#include "common/compare/softmax_error.hpp"

namespace tutorial::unfused_attention {
namespace {

constexpr double U = 0x1p-24;  // unit roundoff of float32
constexpr double INF = std::numeric_limits<double>::infinity();

/// The error of a product's sum of n terms is at most this times Σ|a||b|. TF32 keeps 10 bits behind
/// the point, so each factor is off by at most 2^-11 of itself when it is rounded; 2^-10 allows for
/// a library that cuts off instead.
double product_error(const Attention& a, int64_t n) {
  const double factor = a.tf32 ? 0x1p-10 : 0;
  return (1 + factor) * (1 + factor) * (1 + gamma_bound(n)) - 1;
}

/// 1/√HS is rounded twice, and so is the product with it once: 3u, and a little for higher orders.
constexpr double SCALE_ERROR = 4 * U;

Expected expected(size_t rows, int64_t cols) {
  return {std::vector<double>(rows * cols), std::vector<double>(rows * cols)};
}

/// A row's weights from its scores, and the bound on each. `error` is the absolute error that each
/// score already has: with all scores within e of the true ones, numerator and sum are within a
/// factor of exp(±e). Masked scores are -infinity.
void softmax_row(const std::vector<double>& score, const std::vector<double>& error, double* weight,
                 double* bound) {
  const size_t n = score.size();
  double max = -INF, largest_error = 0;
  bool valid = true;
  for (size_t i = 0; i < n; ++i) {
    if (std::isnan(score[i]) || score[i] == INF) valid = false;
    max = std::max(max, score[i]);
    if (std::isfinite(score[i])) largest_error = std::max(largest_error, error[i]);
  }
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(score[i] - max);
  for (size_t i = 0; i < n; ++i) {
    const double d = max - score[i];
    weight[i] = valid ? std::exp(-d) / sum : std::numeric_limits<double>::quiet_NaN();
    bound[i] = 0;
    if (std::isfinite(d))
      bound[i] = weight[i] * std::expm1(error[i] + largest_error + exp_error(d) +
                                        sum_error(static_cast<int64_t>(n))) +
                 SUBNORMAL_ERROR;
  }
}

/// One row of att from raw scores and their errors: scale, mask, softmax.
void attention_row(const Attention& a, int64_t query, std::vector<double>& score,
                   std::vector<double>& error, double* weight, double* bound) {
  const double scale = 1 / std::sqrt(static_cast<double>(a.HS()));
  for (int64_t key = 0; key < a.T; ++key) {
    score[key] *= scale;
    error[key] = error[key] * scale * (1 + SCALE_ERROR) + std::abs(score[key]) * SCALE_ERROR;
    if (a.causal && key > query) score[key] = -INF;
  }
  softmax_row(score, error, weight, bound);
}

}  // namespace

Expected permute_reference(const Attention& a, std::span<const float> qkv) {
  Expected want = expected(3, a.elements());
  auto to = want.value.begin();
  for (int part = 0; part < 3; ++part)
    for (int64_t b = 0; b < a.B; ++b)
      for (int64_t nh = 0; nh < a.NH; ++nh)
        for (int64_t t = 0; t < a.T; ++t) {
          const auto from = ((b * a.T + t) * 3 + part) * a.C + nh * a.HS();
          to = std::copy_n(qkv.begin() + from, a.HS(), to);
        }
  return want;
}

Expected unpermute_reference(const Attention& a, std::span<const float> vaccum) {
  Expected want = expected(a.B * a.T, a.C);
  auto from = vaccum.begin();
  for (int64_t b = 0; b < a.B; ++b)
    for (int64_t nh = 0; nh < a.NH; ++nh)
      for (int64_t t = 0; t < a.T; ++t, from += a.HS())
        std::copy_n(from, a.HS(), want.value.begin() + (b * a.T + t) * a.C + nh * a.HS());
  return want;
}

Expected scores_reference(const Attention& a, std::span<const float> q, std::span<const float> k,
                          std::span<const int64_t> rows) {
  Expected want = expected(rows.size(), a.T);
  const int64_t HS = a.HS();
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t key = 0; key < a.T; ++key) {
      const int64_t k_row = rows[i] / a.T * a.T + key;  // the same head
      double sum = 0, absolute = 0;
      for (int64_t hs = 0; hs < HS; ++hs) {
        const double product = static_cast<double>(q[rows[i] * HS + hs]) * k[k_row * HS + hs];
        sum += product;
        absolute += std::abs(product);
      }
      want.value[i * a.T + key] = sum;
      want.bound[i * a.T + key] = product_error(a, HS) * absolute;
    }
  return want;
}

Expected scale_mask_reference(const Attention& a, std::span<const float> preatt,
                              std::span<const int64_t> rows) {
  Expected want = expected(rows.size(), a.T);
  const double scale = 1 / std::sqrt(static_cast<double>(a.HS()));
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t key = 0; key < a.T; ++key) {
      const bool masked = a.causal && key > rows[i] % a.T;
      const double value = masked ? -INF : scale * preatt[rows[i] * a.T + key];
      want.value[i * a.T + key] = value;
      want.bound[i * a.T + key] = masked ? 0 : std::abs(value) * SCALE_ERROR + SUBNORMAL_ERROR;
    }
  return want;
}

Expected softmax_reference(const Attention& a, std::span<const float> preatt,
                           std::span<const int64_t> rows) {
  Expected want = expected(rows.size(), a.T);
  const std::vector<double> no_error(a.T);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = preatt.subspan(rows[i] * a.T, a.T);
    softmax_row({row.begin(), row.end()}, no_error, want.value.data() + i * a.T,
                want.bound.data() + i * a.T);
  }
  return want;
}

Expected scale_mask_softmax_reference(const Attention& a, std::span<const float> preatt,
                                      std::span<const int64_t> rows) {
  Expected want = expected(rows.size(), a.T);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = preatt.subspan(rows[i] * a.T, a.T);
    std::vector<double> score(row.begin(), row.end()), error(a.T);
    attention_row(a, rows[i] % a.T, score, error, want.value.data() + i * a.T,
                  want.bound.data() + i * a.T);
  }
  return want;
}

Expected masked_softmax_reference(const Attention& a, const Strip& strip,
                                  std::span<const float> scores, std::span<const int64_t> rows) {
  Expected want = expected(rows.size(), strip.keys);
  const std::vector<double> no_error(strip.keys);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = scores.subspan(rows[i] * strip.keys, strip.keys);
    std::vector<double> score(row.begin(), row.end());
    const int64_t query = strip.first_query + rows[i] % strip.queries;
    for (int64_t key = query + 1; a.causal && key < strip.keys; ++key) score[key] = -INF;
    softmax_row(score, no_error, want.value.data() + i * strip.keys,
                want.bound.data() + i * strip.keys);
  }
  return want;
}

Expected values_reference(const Attention& a, std::span<const float> att, std::span<const float> v,
                          std::span<const int64_t> rows) {
  const int64_t HS = a.HS();
  Expected want = expected(rows.size(), HS);
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t key = 0; key < a.T; ++key) {
      const double weight = att[rows[i] * a.T + key];
      const int64_t v_row = rows[i] / a.T * a.T + key;
      for (int64_t hs = 0; hs < HS; ++hs) {
        const double product = weight * v[v_row * HS + hs];
        want.value[i * HS + hs] += product;
        want.bound[i * HS + hs] += product_error(a, a.T) * std::abs(product);
      }
    }
  return want;
}

Expected attention_reference(const Attention& a, std::span<const float> qkv,
                             std::span<const int64_t> rows, int64_t strip_height) {
  Expected want = expected(rows.size(), a.C);
  const int64_t HS = a.HS();
  std::vector<double> score(a.T), error(a.T), weight(a.T), weight_bound(a.T);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t b = rows[i] / a.T, query = rows[i] % a.T;
    const int64_t multiplied = a.causal && strip_height > 0
                                   ? std::min(a.T, (query / strip_height + 1) * strip_height)
                                   : a.T;
    for (int64_t nh = 0; nh < a.NH; ++nh) {
      // The vector of this head in part 0 (q), 1 (k) or 2 (v) of token t.
      const auto head = [&](int64_t t, int64_t part) {
        return qkv.subspan(((b * a.T + t) * 3 + part) * a.C + nh * HS, HS);
      };

      const auto q = head(query, 0);
      for (int64_t key = 0; key < a.T; ++key) {
        const auto k = head(key, 1);
        double sum = 0, absolute = 0;
        for (int64_t hs = 0; hs < HS; ++hs) {
          sum += static_cast<double>(q[hs]) * k[hs];
          absolute += std::abs(static_cast<double>(q[hs]) * k[hs]);
        }
        score[key] = sum;
        error[key] = product_error(a, HS) * absolute;
      }
      attention_row(a, query, score, error, weight.data(), weight_bound.data());

      double* value = want.value.data() + i * a.C + nh * HS;
      double* bound = want.bound.data() + i * a.C + nh * HS;
      for (int64_t key = 0; key < multiplied; ++key) {
        const auto v = head(key, 2);
        for (int64_t hs = 0; hs < HS; ++hs) {
          value[hs] += weight[key] * v[hs];
          bound[hs] +=
              std::abs(v[hs]) *
              (weight_bound[key] + product_error(a, a.T) * (weight[key] + weight_bound[key]));
        }
      }
    }
  }
  return want;
}

}  // namespace tutorial::unfused_attention
