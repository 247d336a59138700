// From logits to text: the byte, the screen, and the verdict.
#include <sstream>

#include "common/testing/testing.hpp"
#include "model/judged.hpp"
#include "model/text_screen.hpp"

namespace tutorial::flash_attention::model {
namespace {

TEST_CASE("model: the best byte and its lead") {
  std::vector<float> logits(VOCABULARY, -1);
  logits[200] = 3;
  logits[7] = 2.5f;
  CHECK(int{best_of(logits).byte} == 200);
  CHECK(best_of(logits).lead == 0.5f);
  logits[255] = 3;
  CHECK(int{best_of(logits).byte} == 200);  // of equal ones the first
  CHECK(best_of(logits).lead == 0);
}

TEST_CASE("model: bytes are drawn by their probability") {
  std::vector<float> logits(VOCABULARY, -INFINITY);
  logits[10] = std::log(1.0f), logits[20] = std::log(2.0f), logits[255] = std::log(5.0f);
  CHECK(int{drawn(logits, 1, 0)} == 10);
  CHECK(int{drawn(logits, 1, 0.124)} == 10);
  CHECK(int{drawn(logits, 1, 0.126)} == 20);
  CHECK(int{drawn(logits, 1, 0.374)} == 20);
  CHECK(int{drawn(logits, 1, 0.376)} == 255);
  CHECK(int{drawn(logits, 1, 1)} == 255);
  CHECK(int{drawn(logits, 1, 1.5)} == 255);  // as where rounding leaves the sum below `part`
  // √ of the probabilities, and so 1 : 1.41 : 2.24.
  CHECK(int{drawn(logits, 2, 0.21)} == 10);
  CHECK(int{drawn(logits, 2, 0.22)} == 20);
  CHECK(int{drawn(logits, 2, 0.51)} == 20);
  CHECK(int{drawn(logits, 2, 0.53)} == 255);
}

/// What a screen shows of these bytes.
std::string shown(const std::string& bytes) {
  std::ostringstream out;
  {
    TextScreen screen(out);
    for (const char byte : bytes) screen.put(static_cast<unsigned char>(byte));
  }
  return out.str();
}

TEST_CASE("model: the screen shows whole characters, and nothing that a terminal obeys") {
  CHECK(shown("a line\nand \u00e9, \u2192, \U0001f600 in the next") ==
        "a line\nand \u00e9, \u2192, \U0001f600 in the next");
  CHECK(shown("\x1b[2J").find('\x1b') == std::string::npos);
  // Bytes that begin no character, or go on too long, or end too early.
  for (const std::string bytes :
       {"\x80", "\xe2\x86", "\xe2x", "\xf0\x9f\x98\x80\x80\x80\x80\x80"}) {
    const std::string said = shown(bytes + "|");
    CHECK(said.ends_with("|"));
    CHECK(said.size() > 1);
  }
  CHECK(shown("\xe2x").ends_with("x"));
}

TEST_CASE("model: a text is right only if all of its logits are") {
  const Stored stored = read_model(TUTORIAL_MODEL);
  const AskedText asked = {.choice = {.product = products()[1],
                                      .attention = cached_attentions(Gaps::launch_per_head)[1]}};
  Text text = {.bytes = {'A', ' ', 'w', 'a'}};
  const std::vector<double> all = reference_logits(stored, std::span(text.bytes).first(3));
  for (auto of_byte = all.begin() + VOCABULARY; of_byte != all.end(); of_byte += VOCABULARY)
    text.logits.emplace_back(of_byte, of_byte + VOCABULARY);
  const auto is_right = [&](const std::vector<Text>& texts) {
    std::ostringstream said;
    const bool right = judge(stored, asked, texts, said);
    CHECK(said.str().starts_with(right ? "ok: the farthest" : "WRONG: the farthest"));
    return right;
  };
  CHECK(is_right({text}));
  CHECK(is_right({text, text}));
  const float most = static_cast<float>(allowed_error(stored, asked.choice));
  for (const float off : {2 * most, -2 * most, NAN, INFINITY}) {
    INFO("a logit is off by " << off);
    Text wrong = text;
    wrong.logits[1][200] += off;
    CHECK_FALSE(is_right({wrong}));
    CHECK_FALSE(is_right({text, wrong}));
    CHECK_FALSE(is_right({wrong, text}));
  }
  text.logits[1][200] += most / 2;
  CHECK(is_right({text}));
}

}  // namespace
}  // namespace tutorial::flash_attention::model
