// The program of part model: writes text, then says where the time went and whether the logits were
// right.
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>

#include "common/backend/backend.hpp"
#include "common/program/table.hpp"
#include "model/asked.hpp"
#include "model/model.hpp"
#include "model/stage_times.hpp"
#include "model/text_screen.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention::model;

namespace {

/// A text, and the logits that each byte behind the prompt was chosen by.
struct Text {
  std::vector<Byte> bytes = {};
  std::vector<std::vector<float>> logits = {};
};
struct Written {
  std::vector<Text> texts = {};
  std::vector<StageTimes::Time> prompt_times = {}, token_times = {};
  double seconds = 0;
};

/// The bytes from number `from` on, of all texts.
std::vector<Byte> bytes_from(const std::vector<Text>& texts, int64_t from) {
  std::vector<Byte> bytes;
  for (const Text& text : texts)
    bytes.insert(bytes.end(), text.bytes.begin() + from, text.bytes.end());
  return bytes;
}

/// `times` takes some of it on a GPU, and may be nullptr. The screen, which may be, too, shows the
/// first text.
Written write(Model& model, const AskedText& asked, StageTimes* times, TextScreen* screen) {
  const RunStage run = times == nullptr ? run_at_once : times->run();
  const auto begin = std::chrono::steady_clock::now();
  std::mt19937_64 random(asked.seed);
  Written all;
  all.texts.resize(asked.texts, {.bytes = {asked.prompt.begin(), asked.prompt.end()}});
  for (size_t i = 0; screen != nullptr && i < asked.prompt.size(); ++i)
    screen->put(all.texts[0].bytes[i]);
  model.forget();
  for (int64_t i = 0; i < asked.tokens; ++i) {
    if (!asked.cached) model.forget();
    const std::vector<float> logits = model.read(bytes_from(all.texts, model.length()), false, run);
    if (times != nullptr && i == 0) all.prompt_times = times->take();
    for (auto of_text = logits.begin(); Text & text : all.texts) {
      text.logits.emplace_back(of_text, of_text + VOCABULARY);
      of_text += VOCABULARY;
      text.bytes.push_back(asked.temperature > 0 ? drawn(text.logits.back(), asked.temperature,
                                                         std::uniform_real_distribution()(random))
                                                 : best_of(text.logits.back()).byte);
    }
    if (screen != nullptr) screen->put(all.texts[0].bytes.back());
  }
  if (times != nullptr) all.token_times = times->take();
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

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

/// Says whether the logits are right, and where the text was nearly another one. Of many texts the
/// first and the last are looked at.
bool judge(const Stored& stored, const AskedText& asked, const std::vector<Text>& texts) {
  double worst = farthest(stored, texts.front());
  if (texts.size() > 1)
    if (const double other = farthest(stored, texts.back()); !(other <= worst)) worst = other;
  const double most = ALLOWED_OF_PYTORCH * stored.logit_error;
  const bool right = worst <= most;
  std::cout << (right ? "ok" : "WRONG") << formatted(": the farthest logit is %.1e off", worst)
            << formatted(" (may be %.1e: 4 times PyTorch's own error)\n", most);
  const auto& logits = texts.front().logits;
  for (size_t i = 0; right && asked.temperature == 0 && i < logits.size(); ++i)
    if (best_of(logits[i]).lead <= 2 * most) {
      std::cout << "Token " << i + 1 << " was nearly a tie: other kernels, whose sums round "
                << "differently, may write another text from there on.\n";
      break;
    }
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  const AskedText asked = read_asked(argc, argv);
  const Stored stored = read_model(asked.folder);
  require_room(asked, stored.sizes);
  Model model(stored, asked.choice, asked.texts);
  std::cout << device_description() << "\n" << described(asked, stored) << "\n\n";

  // Events between the kernels cost time themselves, and the first launch of each kernel loads it:
  // on a GPU a run of its own has both.
  StageTimes times;
  Written measured, written;
  if (device_has_clock()) measured = write(model, asked, &times, nullptr);
  {
    TextScreen screen;
    written = write(model, asked, device_has_clock() ? nullptr : &times, &screen);
  }
  if (!device_has_clock()) measured = written;
  for (size_t i = 1; asked.temperature > 0 && i < written.texts.size(); ++i) {
    std::cout << "\n\n";
    TextScreen screen;
    for (const Byte byte : written.texts[i].bytes) screen.put(byte);
  }
  const int64_t tokens = asked.texts * asked.tokens;
  std::cout << "\n\n"
            << tokens << " tokens, "
            << formatted("%.3g a second", static_cast<double>(tokens) / written.seconds)
            << (device_has_clock() ? "\n" : " in the simulator, which gives no GPU times\n")
            << stage_table(measured.prompt_times, measured.token_times, asked.tokens - 1) << '\n';
  const bool right = judge(stored, asked, written.texts);
  require_printed();
  return right ? 0 : 1;
} catch (...) {
  return exit_status();
}
