#include "model/judged.hpp"

#include <cmath>

#include "common/data/text.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// The larger error; nothing is more than NaN.
double worse(double one, double other) {
  return std::isnan(one) || other <= one ? one : other;
}

/// How far the farthest logit is from the true one; NaN where one is.
double farthest(const Stored& stored, const Text& text) {
  const std::span<const Byte> read(text.bytes.data(), text.bytes.size() - 1);
  const std::vector<double> want = reference_logits(stored, read);
  auto right = want.end() - static_cast<int64_t>(text.logits.size()) * VOCABULARY;
  double worst = 0;
  for (const std::vector<float>& logits : text.logits)
    for (const float logit : logits) worst = worse(worst, std::abs(logit - *right++));
  return worst;
}

}  // namespace

bool judge(const Stored& stored, const AskedText& asked, const std::vector<Text>& texts,
           std::ostream& out) {
  double worst = farthest(stored, texts.front());
  if (texts.size() > 1) worst = worse(worst, farthest(stored, texts.back()));
  const double most = allowed_error(stored, asked.choice);
  const bool right = worst <= most, bf16 = asked.choice.is_bf16();
  out << (right ? "ok" : "WRONG") << formatted(": the farthest logit is %.1e off", worst)
      << formatted(" (may be %.1e: ", most)
      << formatted("%.0f times PyTorch's own error",
                   bf16 ? ALLOWED_OF_PYTORCH_BF16 : ALLOWED_OF_PYTORCH)
      << (bf16 ? " in bf16)\n" : ")\n");
  const auto& logits = texts.front().logits;
  for (size_t i = 0; right && asked.temperature == 0 && i < logits.size(); ++i)
    if (best_of(logits[i]).lead <= 2 * most) {
      out << "Token " << i + 1 << " was nearly a tie: other kernels, whose sums round "
          << "differently, may write another text from there on.\n";
      break;
    }
  return right;
}

}  // namespace tutorial::flash_attention::model
