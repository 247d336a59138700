// The model as its formulas have it, in double on the CPU; and what float32 may make of the layers
// that this part brings.
#include <algorithm>
#include <cmath>

#include "model/layers.hpp"
#include "model/model.hpp"

namespace tutorial::flash_attention::model {
namespace {

using Rows = std::vector<double>;

double gelu(double z) {
  return z / 2 * (1 + std::erf(z / std::sqrt(2.0)));
}

/// Mean and variance of a row.
template <class Number>
std::pair<double, double> moments(const Number* x, int64_t width) {
  double mean = 0, variance = 0;
  for (int64_t c = 0; c < width; ++c) mean += x[c];
  mean /= static_cast<double>(width);
  for (int64_t c = 0; c < width; ++c) variance += (x[c] - mean) * (x[c] - mean);
  return {mean, variance / static_cast<double>(width)};
}

Rows normed(const Rows& x, const Norm& by, int64_t width) {
  Rows y(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    const auto [mean, variance] = moments(&x[row], width);
    for (int64_t c = 0; c < width; ++c)
      y[row + c] = (x[row + c] - mean) / std::sqrt(variance + double{NORM_EPSILON}) * by.gain[c] +
                   by.shift[c];
  }
  return y;
}

/// x·weight + bias, row by row.
Rows times(const Rows& x, const Linear& by) {
  const size_t rows = x.size() / by.in;
  Rows y(rows * by.out);
  for (size_t row = 0; row < rows; ++row) {
    double* const out = &y[row * by.out];
    if (by.bias != nullptr) std::copy_n(by.bias, by.out, out);
    for (int64_t k = 0; k < by.in; ++k) {
      const double factor = x[row * by.in + k];
      const float* const weight = by.weight + k * by.out;
      for (int64_t c = 0; c < by.out; ++c) out[c] += factor * weight[c];
    }
  }
  return y;
}

/// Causal attention of all heads; qkv is (T, 3, heads, head size), the result (T, heads, head
/// size).
Rows attended(const Rows& qkv, const Sizes& sizes) {
  const int64_t width = sizes.width, size = sizes.head_size();
  const auto T = static_cast<int64_t>(qkv.size()) / (3 * width);
  Rows out(static_cast<size_t>(T * width));
  std::vector<double> weight(static_cast<size_t>(T));
  for (int64_t head = 0; head < sizes.heads; ++head)
    for (int64_t i = 0; i < T; ++i) {
      const double* const q = &qkv[i * 3 * width + head * size];
      double most = -INFINITY, sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const double* const k = &qkv[(j * 3 + 1) * width + head * size];
        double dot = 0;
        for (int64_t d = 0; d < size; ++d) dot += q[d] * k[d];
        weight[j] = dot / std::sqrt(static_cast<double>(size));
        most = std::max(most, weight[j]);
      }
      for (int64_t j = 0; j <= i; ++j) sum += weight[j] = std::exp(weight[j] - most);
      for (int64_t j = 0; j <= i; ++j)
        for (int64_t d = 0; d < size; ++d)
          out[i * width + head * size + d] +=
              weight[j] / sum * qkv[(j * 3 + 2) * width + head * size + d];
    }
  return out;
}

void add(Rows& x, const Rows& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

std::vector<double> reference_logits(const Stored& stored, std::span<const Byte> bytes) {
  const Sizes& sizes = stored.sizes;
  const Weights weights = weights_at(stored.values.data(), sizes);
  Rows x(bytes.size() * sizes.width);
  for (size_t t = 0; t < bytes.size(); ++t)
    for (int64_t c = 0; c < sizes.width; ++c)
      x[t * sizes.width + c] =
          double{weights.token[bytes[t] * sizes.width + c]} + weights.position[t * sizes.width + c];
  for (const Layer& layer : weights.layers) {
    const Rows qkv = times(normed(x, layer.norm1, sizes.width), layer.qkv);
    add(x, times(attended(qkv, sizes), layer.out));
    Rows hidden = times(normed(x, layer.norm2, sizes.width), layer.up);
    std::ranges::transform(hidden, hidden.begin(), gelu);
    add(x, times(hidden, layer.down));
  }
  return times(normed(x, weights.norm, sizes.width), weights.head);
}

Expected reference_layer_norm(std::span<const float> x, std::span<const float> gain,
                              std::span<const float> shift) {
  constexpr double UNIT = 0x1p-24;
  const auto width = static_cast<int64_t>(gain.size());
  Expected want;
  for (size_t row = 0; row < x.size(); row += gain.size()) {
    const auto [mean, variance] = moments(&x[row], width);
    double magnitude = 0, squares_of_errors = 0;
    for (int64_t c = 0; c < width; ++c) magnitude += std::abs(x[row + c]);
    // The sum has width terms, the division rounds once more.
    const double mean_error = gamma_bound(width + 1) * magnitude / static_cast<double>(width);
    const auto distance_error = [&](double distance) {
      return mean_error + UNIT * (std::abs(distance) + mean_error);
    };
    for (int64_t c = 0; c < width; ++c)
      squares_of_errors += std::pow(distance_error(x[row + c] - mean), 2);
    // √(mean of (d + e)²) is within rms(e) of rms(d) (the triangle inequality); squares, their sum
    // and the division round.
    const double off = std::sqrt(squares_of_errors / static_cast<double>(width));
    const double rounded = gamma_bound(width + 3);
    const double highest = std::pow(std::sqrt(variance) + off, 2) * (1 + rounded);
    const double lowest = std::pow(std::max(0.0, std::sqrt(variance) - off), 2) * (1 - rounded);
    const double inverse = 1 / std::sqrt(variance + double{NORM_EPSILON});
    // With 1/√z the relative error of z counts half; the sum, the root and the division round.
    const double largest = 1 / std::sqrt(lowest + double{NORM_EPSILON}) * (1 + 3 * UNIT);
    const double smallest = 1 / std::sqrt(highest + double{NORM_EPSILON}) * (1 - 3 * UNIT);
    const double inverse_error = std::max(largest - inverse, inverse - smallest);
    for (int64_t c = 0; c < width; ++c) {
      const double distance = x[row + c] - mean, product = distance * inverse;
      const double error = (std::abs(distance) + distance_error(distance)) * inverse_error +
                           distance_error(distance) * inverse;
      const double scaled = std::abs(gain[c]) * (std::abs(product) + error);
      want.value.push_back(product * gain[c] + shift[c]);
      want.bound.push_back(std::abs(gain[c]) * error + gamma_bound(3) * scaled +
                           UNIT * std::abs(shift[c]));
    }
  }
  return want;
}

Expected reference_bias_gelu(std::span<const float> x, std::span<const float> bias) {
  constexpr double UNIT = 0x1p-24;
  Expected want;
  for (size_t i = 0; i < x.size(); ++i) {
    const double z = double{x[i]} + bias[i % bias.size()];
    // z rounds; so does z/√2, whose constant is rounded, too. erf's slope is at most 2/√π·e^(−u²),
    // and erff is within 2 units (CUDA C++ Programming Guide, mathematical functions). The sum
    // 1 + erf cancels where z < 0: what erff is off by stays.
    const double u = z / std::sqrt(2.0), slope = 2 / std::sqrt(std::acos(-1.0)) * std::exp(-u * u);
    const double erf_error = slope * 4 * UNIT * std::abs(u) + 4 * UNIT * std::abs(std::erf(u));
    const double sum = 1 + std::erf(u);
    want.value.push_back(gelu(z));
    want.bound.push_back(std::abs(z) / 2 * (erf_error + UNIT * sum) + 4 * UNIT * std::abs(gelu(z)) +
                         0x1p-149);
  }
  return want;
}

}  // namespace tutorial::flash_attention::model
