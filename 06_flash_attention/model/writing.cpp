// From logits to the next byte.
#include <algorithm>

#include "04_softmax.hpp"
#include "model/model.hpp"

namespace tutorial::flash_attention::model {

Best best_of(std::span<const float> logits) {
  const auto best = std::ranges::max_element(logits);
  float next = -INFINITY;
  for (auto it = logits.begin(); it != logits.end(); ++it)
    if (it != best) next = std::max(next, *it);
  return {static_cast<Byte>(best - logits.begin()), *best - next};
}

Byte drawn(std::span<const float> logits, double temperature, double part) {
  std::vector<float> scaled(logits.begin(), logits.end());
  for (float& logit : scaled) logit = static_cast<float>(logit / temperature);
  const DeviceBuffer<float> x(scaled);
  DeviceBuffer<float> y(x.size());
  softmax::warp_per_row(x.data(), y.data(), 1, x.size());

  const std::vector<float> probabilities = y.to_host();
  double sum = 0;
  for (size_t byte = 0; byte < probabilities.size(); ++byte)
    if ((sum += probabilities[byte]) > part) return static_cast<Byte>(byte);
  return best_of(logits).byte;  // part is so near to 1 that rounding decides
}

}  // namespace tutorial::flash_attention::model
