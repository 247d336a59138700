// The CPU reference: the formulas of backward.hpp, pair by pair, in double.
#include <cmath>
#include <limits>
#include <utility>

#include "backward/precision.hpp"
#include "common/compare/softmax_error.hpp"

namespace tutorial::flash_attention::backward {
namespace {

constexpr double UNIT = 0x1p-24;  // float32 rounds by at most this part of a value

/// How far sums of n products and weights that are multiplied may be off, as parts of their
/// magnitudes. On tensor cores (Precision::bf16) an addition is cut off, which 2 of 2^-23 a product
/// cover (tensor_cores/reference.cpp), and a weight is rounded to bf16 first.
double sum_error(int64_t n, Precision precision) {
  return precision == Precision::bf16 ? gamma_bound(2 * n, 0x1p-23) : gamma_bound(n);
}
double weight_error(Precision precision) {
  return precision == Precision::bf16 ? 0x1p-8 : 0;
}

/// A number, and how far a float32 kernel's may be from it.
struct Number {
  double value, error;
};

/// A dot product of n terms: gamma(n)·Σ|x||y|, in any order.
Number dot(std::span<const float> x, std::span<const float> y,
           Precision precision = Precision::fp32) {
  double sum = 0, magnitude = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    sum += static_cast<double>(x[d]) * y[d];
    magnitude += std::abs(static_cast<double>(x[d]) * y[d]);
  }
  return {sum, sum_error(static_cast<int64_t>(x.size()), precision) * magnitude};
}

/// exp(s − lse), s = dot/√HS. A kernel's exponent is off by e:
///   the dot product's own error, over √HS;
///   √HS, log₂(e) and their quotient are rounded, and so is the product with the dot product, and
///   log₂(e)·lse with both of its factors; the difference is rounded too: 4u of |s| and 3u of |lse|
///   cover these, 1u of each more for good measure.
/// exp turns that into a relative error of exp(e) − 1, and adds 2 ulp (4u) of its own.
Number weight(const Number& dot_product, double lse, int64_t HS) {
  const double root = std::sqrt(static_cast<double>(HS)), s = dot_product.value / root;
  const double p = std::exp(s - lse);
  const double e = dot_product.error / root + 5 * UNIT * (std::abs(s) + std::abs(lse));
  return {p, p * (std::expm1(e) + 4 * UNIT * std::exp(e)) + SUBNORMAL_ERROR};
}

/// p·(dp − D): the difference has the errors of both, and is rounded; then comes the product's
/// rounding, and p's error times the difference as the kernel has it.
Number weight_gradient(const Number& p, const Number& dp, const Number& D) {
  const double difference = dp.value - D.value;
  const double error = dp.error + D.error + 2 * UNIT * (std::abs(difference) + dp.error + D.error);
  return {p.value * difference,
          p.value * error + p.error * (std::abs(difference) + error) + SUBNORMAL_ERROR};
}

/// A row of a result: factor·Σ weight·x over the pairs added so far. A sum of n products is off by
/// gamma(n)·Σ|w||x|, in any order; 2 more for the factor, which is rounded, and the product with
/// it. Each weight's own error comes times |x|.
class Row {
 public:
  Row(int64_t HS, Precision precision)
      : value_(HS), error_(HS), magnitude_(HS), precision_(precision) {}
  void add(Number w, std::span<const float> x) {
    w.error += weight_error(precision_) * (std::abs(w.value) + w.error);
    for (size_t d = 0; d < x.size(); ++d) {
      value_[d] += w.value * x[d];
      error_[d] += w.error * std::abs(x[d]);
      magnitude_[d] += (std::abs(w.value) + w.error) * std::abs(x[d]);
    }
    ++terms_;
  }
  void write(double factor, Expected& to, size_t row) const {
    for (size_t d = 0; d < value_.size(); ++d) {
      to.value[row * value_.size() + d] = factor * value_[d];
      to.bound[row * value_.size() + d] =
          factor * (error_[d] + sum_error(terms_ + 2, precision_) * magnitude_[d]) +
          (terms_ > 0 ? SUBNORMAL_ERROR : 0);
    }
  }

 private:
  std::vector<double> value_, error_, magnitude_;
  Precision precision_;
  int64_t terms_ = 0;
};

/// A problem's rows, and what its pairs give.
struct Pairs {
  const Attention& shape;
  const HostTensors& at;
  Precision precision;

  std::span<const float> row(std::span<const float> of, int64_t r) const {
    return of.subspan(r * shape.HS, shape.HS);
  }
  /// p and ds of row `query` of q and row `key` of k.
  void compute(int64_t query, int64_t key, Number& p, Number& ds) const {
    p = weight(dot(row(at.q, query), row(at.k, key), precision), at.lse[query], shape.HS);
    ds = weight_gradient(p, dot(row(at.dout, query), row(at.v, key), precision),
                         dot(row(at.dout, query), row(at.out, query)));
  }
  bool sees(int64_t i, int64_t j) const { return !shape.causal || j <= i + (shape.Tk - shape.Tq); }
};

}  // namespace

Reference reference(const Attention& shape, const HostTensors& at, std::span<const int64_t> queries,
                    std::span<const int64_t> keys, Precision precision) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  const double factor = HS > 0 ? 1 / std::sqrt(static_cast<double>(HS)) : 0;
  Reference want;
  for (Expected* expected : {&want.dq, &want.dk, &want.dv}) {
    const size_t rows = expected == &want.dq ? queries.size() : keys.size();
    expected->value.resize(rows * HS);
    expected->bound.resize(rows * HS);
  }
  const Pairs pairs{shape, at, precision};
  Number p, ds;
  for (size_t n = 0; n < queries.size(); ++n) {  // row (batch·NH + head)·Tq + i
    const int64_t i = queries[n] % Tq, kv_head = queries[n] / Tq / (NH / NH_kv);
    Row dq(HS, precision);
    for (int64_t j = 0; j < Tk; ++j)
      if (pairs.sees(i, j)) {
        pairs.compute(queries[n], kv_head * Tk + j, p, ds);
        dq.add(ds, pairs.row(at.k, kv_head * Tk + j));
      }
    dq.write(factor, want.dq, n);
  }
  for (size_t n = 0; n < keys.size(); ++n) {  // row (batch·NH_kv + kv_head)·Tk + j
    const int64_t j = keys[n] % Tk, kv_head = keys[n] / Tk, group = NH / NH_kv;
    Row dk(HS, precision), dv(HS, precision);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (int64_t i = 0; i < Tq; ++i)
        if (pairs.sees(i, j)) {
          pairs.compute(head * Tq + i, keys[n], p, ds);
          dk.add(ds, pairs.row(at.q, head * Tq + i));
          dv.add(p, pairs.row(at.dout, head * Tq + i));
        }
    dk.write(factor, want.dk, n);
    dv.write(1, want.dv, n);
  }
  if (precision == Precision::bf16)
    for (Expected* expected : {&want.dq, &want.dk, &want.dv})
      *expected = in_bf16(std::move(*expected));
  return want;
}

Reference reference(const Attention& shape, const HostTensors& at, std::span<const int64_t> queries,
                    std::span<const int64_t> keys) {
  return reference(shape, at, queries, keys, Precision::fp32);
}

}  // namespace tutorial::flash_attention::backward
