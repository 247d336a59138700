#include "model/judged.hpp"

#include <cmath>
#include <iostream>

#include "common/data/text.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// How far the farthest logit is from the true one; NaN where one is.
double farthest(const Stored& stored, const Text& text) {
  const std::span<const Byte> read(text.bytes.data(), text.bytes.size() - 1);
  const std::vector<double> want = reference_logits(stored, read);
  auto right = want.end() - static_cast<int64_t>(text.logits.size()) * VOCABULARY;
  double worst = 0;
  for (const std::vector<float>& logits : text.logits)
    for (const float logit : logits) {
      const double error = std::abs(logit - *right++);
      if (std::isnan(error) || error > worst) worst = error;  // nothing is more than NaN
    }
  return worst;
}

}  // namespace

bool judge(const Stored& stored, const AskedText& asked, const std::vector<Text>& texts) {
  double worst = farthest(stored, texts.front());
  if (texts.size() > 1)
    if (const double other = farthest(stored, texts.back()); !(other <= worst)) worst = other;
  const double most = allowed_error(stored, asked.choice);
  const bool right = worst <= most, bf16 = asked.choice.is_bf16();
  std::cout << (right ? "ok" : "WRONG") << formatted(": the farthest logit is %.1e off", worst)
            << formatted(" (may be %.1e: ", most)
            << formatted("%.0f times PyTorch's own error",
                         bf16 ? ALLOWED_OF_PYTORCH_BF16 : ALLOWED_OF_PYTORCH)
            << (bf16 ? " in bf16)\n" : ")\n");
  const auto& logits = texts.front().logits;
  for (size_t i = 0; right && asked.temperature == 0 && i < logits.size(); ++i)
    if (best_of(logits[i]).lead <= 2 * most) {
      std::cout << "Token " << i + 1 << " was nearly a tie: other kernels, whose sums round "
                << "differently, may write another text from there on.\n";
      break;
    }
  return right;
}

}  // namespace tutorial::flash_attention::model
