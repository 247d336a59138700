// The program of part model: writes text, then says where the time went and whether the logits were
// right.
#include <chrono>
#include <iostream>
#include <random>

#include "common/backend/backend.hpp"
#include "common/program/table.hpp"
#include "model/asked.hpp"
#include "model/judged.hpp"
#include "model/model.hpp"
#include "model/stage_times.hpp"
#include "model/text_screen.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention::model;

namespace {

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
