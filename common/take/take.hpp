// Words of the main() that ./learn take puts below a step: a ladder's take.cu has it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/kernel/check.hpp"

namespace tutorial::take {

/// Word number `i` of the command line, or `otherwise` where there are not so many.
inline int64_t size_word(int argc, char** argv, int i, int64_t otherwise) {
  return i < argc ? std::atoll(argv[i]) : otherwise;
}

/// An array in global memory, and one on the host. At first the one on the device holds NaN.
template <class T>
struct Array {
  std::vector<T> host;
  T* device = nullptr;

  explicit Array(int64_t count) : host(count) {
    CUDA_CHECK(cudaMalloc(&device, count * sizeof(T)));
    CUDA_CHECK(cudaMemset(device, 0xff, count * sizeof(T)));
  }
  /// Of random numbers in [-1, 1), others for each seed.
  Array(int64_t count, unsigned seed) : Array(count) {
    std::mt19937 random(seed);
    for (T& number : host) number = static_cast<T>(static_cast<int32_t>(random()) * 0x1p-31f);
    to_device();
  }
  ~Array() { cudaFree(device); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  int64_t size() const { return static_cast<int64_t>(host.size()); }
  double at(int64_t i) const { return static_cast<float>(host[i]); }
  void to_device() {
    CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  /// Waits for the kernels, so what one of them does wrong shows here.
  void to_host() {
    CUDA_CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }
};

/// What an element should be, and how far from that a kernel's may be.
struct Want {
  double value = 0, bound = 0;
};

/// The sum of term(0) … term(count − 1), products of two. Added up in float32, in any order, it is
/// off by about count · 2^-24 · Σ|term| at most. `unit` takes the place of 2^-24 where sums or
/// factors are less exact.
template <class Term>
Want sum_of(int64_t count, const Term& term, double unit = 0x1p-24) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double one = term(i);
    sum += one;
    magnitude += std::abs(one);
  }
  return {sum, 1.01 * count * unit * magnitude};
}

/// The mean of value(0) … value(count − 1), weighted by the softmax of score(0) …, which are Wants.
/// `rounding`: how much of itself a weight, or the mean, may lose besides what float32 does.
template <class Score, class Value>
Want softmax_mean(int64_t count, const Score& score, const Value& value, double rounding = 0) {
  std::vector<double> scores;
  double max = -INFINITY, off = 0;
  for (int64_t j = 0; j < count; ++j) {
    const Want s = score(j);
    scores.push_back(s.value);
    max = std::max(max, s.value);
    off = std::max(off, s.bound);
  }
  double weights = 0, sum = 0, magnitude = 0;
  for (int64_t j = 0; j < count; ++j) {
    const double weight = std::exp(scores[j] - max);
    weights += weight;
    sum += weight * value(j);
    magnitude += weight * std::abs(value(j));
  }
  // With scores that are off by e, a weight is off by a factor of exp(2e); then there are two sums
  // of `count`, a rescaling now and then, and the rounding of exp and of its argument.
  const double relative = std::expm1(2 * off) + (4 * count + 100) * 0x1p-24 + rounding;
  return {sum / weights, magnitude / weights * relative};
}

/// Compares some elements, the first and the last among them, with want(their number). Says which
/// one is wrong first, and how many are.
template <class T, class Wanted>
bool is_right(Array<T>& got, const Wanted& want) {
  got.to_host();
  constexpr int SOME = 256;
  const auto last = static_cast<int64_t>(got.host.size()) - 1;
  std::mt19937_64 random(SOME);
  int wrong = 0;
  for (int n = 0; last >= 0 && n < SOME; ++n) {
    const int64_t i = n == 0 ? 0 : n == 1 ? last : static_cast<int64_t>(random() % (last + 1));
    const Want wanted = want(i);
    const auto value = static_cast<double>(static_cast<float>(got.host[i]));
    if (value == wanted.value || std::abs(value - wanted.value) <= wanted.bound) continue;
    if (wrong++ == 0)
      std::printf("element %lld is %g and should be %g, give or take %.1e\n",
                  static_cast<long long>(i), value, wanted.value, wanted.bound);
  }
  std::printf("%d of %d elements that were compared are wrong\n", wrong, SOME);
  return wrong == 0;
}

/// Says how long a launch takes: the median of 20 times, or of fewer where they take long. The L2
/// cache holds what the launch before has left in it.
template <class Launch>
void print_time(const char* step, const Launch& launch) {
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (float together = 0; times.size() < 20 && together < 500; together += times.back()) {
    CUDA_CHECK(cudaEventRecord(begin));
    launch();
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    times.push_back(0);
    CUDA_CHECK(cudaEventElapsedTime(&times.back(), begin, end));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("%s: %.3f ms, the median of %zu\n", step, times[times.size() / 2], times.size());
}

}  // namespace tutorial::take
