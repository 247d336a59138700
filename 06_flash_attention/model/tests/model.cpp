// The whole model beside its reference in double, and beside what PyTorch wrote.
#include "model/model.hpp"

#include <catch2/matchers/catch_matchers.hpp>

#include "common/data/files.hpp"
#include "common/testing/testing.hpp"
#include "model/asked.hpp"

namespace tutorial::flash_attention::model {
namespace {

const Stored& stored() {
  static const Stored model = read_model(TUTORIAL_MODEL);
  return model;
}

/// The same model with its first layer alone, for what need not run through all of them.
const Stored& shallow() {
  static const Stored model = [] {
    const Sizes& sizes = stored().sizes;
    Stored one = stored();
    one.sizes.layers = 1;
    const auto layers = one.values.begin() + (VOCABULARY + sizes.context) * sizes.width;
    const int64_t a_layer = (weight_count(sizes) - weight_count(one.sizes)) / (sizes.layers - 1);
    one.values.erase(layers + a_layer, layers + sizes.layers * a_layer);
    return one;
  }();
  return model;
}

/// A line of written.txt.
std::vector<Byte> unescaped(const std::string& line) {
  std::vector<Byte> bytes;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    bytes.push_back(!escape ? line[i] : line[++i] == 'n' ? '\n' : line[i]);
  }
  return bytes;
}
/// What PyTorch wrote, the prompts in front: 200 bytes and more each.
const std::vector<std::vector<Byte>>& written() {
  static const auto texts = [] {
    std::vector<std::vector<Byte>> texts;
    for (const std::string& line : read_lines(TUTORIAL_MODEL "/written.txt"))
      texts.push_back(unescaped(line));
    return texts;
  }();
  REQUIRE(texts.size() == 4);
  return texts;
}

std::span<const Byte> first(int64_t count) {
  return std::span(written()[0]).first(count);
}

/// Sums of fewer terms than the whole context's need not be looked at access by access.
struct WithoutChecks {
  WithoutChecks() { switch_checks(false); }
  ~WithoutChecks() { switch_checks(true); }
};

template <class Kernel>
Kernel named(const std::vector<Kernel>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Kernel::name);
  REQUIRE(found != all.end());
  return *found;
}
Choice choice(const std::string& product = "coalesced", const std::string& attention = "q_outer",
              Gaps gaps = Gaps::copy) {
  return {.product = named(products(), product),
          .attention = named(cached_attentions(gaps), attention)};
}

/// The logits of the last rows are those of the reference, as near as a model of this choice must
/// be.
void check_logits(const Stored& of, std::span<const float> got, std::span<const Byte> bytes,
                  const Choice& with = choice()) {
  const std::vector<double> all = reference_logits(of, bytes);
  Expected want;
  want.value.assign(all.end() - static_cast<int64_t>(got.size()), all.end());
  want.bound.assign(got.size(), allowed_error(stored(), with));
  const auto rows = static_cast<int64_t>(got.size()) / VOCABULARY;
  const Comparison found = compare(got, want, {.name = "logits", .rows = rows, .cols = VOCABULARY});
  CHECK(found.report == "");
}

TEST_CASE("model: the logits of 200 tokens are as near to the true ones as PyTorch's") {
  const WithoutChecks quick;
  Model model(stored(), choice());
  check_logits(stored(), model.read(first(200), true), first(200));
}

TEST_CASE("model: prompts of any length, and the longest") {
  const WithoutChecks quick;
  Model model(shallow(), choice("coalesced", "any_shape/by_shape"));
  for (const int64_t count : {1, 2, 63, 64, 65}) {
    INFO(count << " bytes");
    model.forget();
    check_logits(shallow(), model.read(first(count)), first(count));
  }
  const int64_t most = stored().sizes.context;
  std::vector<Byte> longest = written()[1];
  longest.insert(longest.end(), written()[2].begin(), written()[2].end());
  longest.resize(most);
  model.forget();
  check_logits(shallow(), model.read(longest), longest);
  CHECK(model.length() == most);
  CHECK_THROWS_WITH(model.read(first(1)), "the text would have " + std::to_string(most + 1) +
                                              " bytes, and this model reads at most " +
                                              std::to_string(most) +
                                              ": give a shorter prompt, or ask for fewer tokens");
  CHECK(model.length() == most);
}

TEST_CASE("model: with the cache as without, however the text is cut") {
  for (const Gaps gaps : {Gaps::launch_per_head, Gaps::copy}) {
    Model model(shallow(), choice("coalesced", "q_outer", gaps));
    int64_t length = 0;
    for (const int64_t piece : {5, 1, 1, 3, 1}) {
      const std::vector<float> logits = model.read(first(length + piece).subspan(length), true);
      length += piece;
      check_logits(shallow(), logits, first(length));
    }
    CHECK(model.read({}).empty());
  }
}

TEST_CASE("model: several texts at a time are what each is alone") {
  for (const Gaps gaps : {Gaps::launch_per_head, Gaps::copy}) {
    Model model(shallow(), choice("coalesced", "q_outer", gaps), 3);
    const auto cut = [](int64_t from, int64_t count) {  // of three texts
      std::vector<Byte> bytes;
      for (int text = 0; text < 3; ++text)
        bytes.insert(bytes.end(), written()[text].begin() + from,
                     written()[text].begin() + from + count);
      return bytes;
    };
    const std::vector<float> four = model.read(cut(0, 4)), five = model.read(cut(4, 1));
    REQUIRE(four.size() == 3 * VOCABULARY);
    REQUIRE(five.size() == 3 * VOCABULARY);
    for (int text = 0; text < 3; ++text) {
      const std::span<const Byte> alone(written()[text]);
      const auto of_text = [&](const std::vector<float>& logits) {
        return std::span(logits).subspan(text * VOCABULARY, VOCABULARY);
      };
      check_logits(shallow(), of_text(four), alone.first(4));
      check_logits(shallow(), of_text(five), alone.first(5));
    }
    CHECK_THROWS_WITH(model.read(first(4)), "all texts must get the same number of bytes");
  }
}

/// A prompt of two bytes, and one byte more.
void check_short_text(const Choice& with) {
  INFO("product " << with.product.name << ", attention " << with.attention.name);
  Model model(shallow(), with);
  check_logits(shallow(), model.read(first(2)), first(2), with);
  check_logits(shallow(), model.read(first(3).last(1)), first(3), with);
}
template <class Kernel>
bool is_looked_at(const Kernel& kernel) {
  return is_in_sample(kernel.name) && why_not_here(kernel.needs).empty();
}

TEST_CASE("model: every product writes the same") {
  const auto attention = named(cached_attentions(Gaps::launch_per_head), "q_outer");
  for (const Product& product : products())
    if (is_looked_at(product)) check_short_text({.product = product, .attention = attention});
}

TEST_CASE("model: every attention writes the same, with a launch a head and with copies") {
  const Product product = named(products(), "coalesced");
  for (const Gaps gaps : {Gaps::launch_per_head, Gaps::copy})
    for (const CachedAttention& attention : cached_attentions(gaps))
      if (is_looked_at(attention)) check_short_text({.product = product, .attention = attention});
}

TEST_CASE("model: in bf16 the logits of 65 tokens, and of one more, are as near as PyTorch's") {
  const WithoutChecks quick;
  if (!why_not_here("sm_80").empty()) SKIP(why_not_here("sm_80"));
  for (const std::string attention : {"tensor_cores/layouts", "few_queries/by_shape"}) {
    INFO(attention);
    const Choice with = choice("tensor_cores/by_shape", attention);
    Model model(stored(), with);
    check_logits(stored(), model.read(first(65), true), first(65), with);
    check_logits(stored(), model.read(first(66).last(1)), first(66), with);
  }
}

TEST_CASE("model: it writes what PyTorch wrote, up to the first near tie") {
  const WithoutChecks quick;
  const int64_t tokens = 40;
  Model model(stored(), choice());
  for (const std::vector<Byte>& text : std::span(written()).first(2)) {
    const auto prompt = static_cast<int64_t>(text.size()) - 200;
    model.forget();
    std::vector<float> logits = model.read(std::span(text).first(prompt));
    for (int64_t i = 0; i < tokens; ++i) {
      const Best best = best_of(logits);
      if (best.lead <= 2 * allowed_error(stored(), choice())) break;
      INFO("token " << i + 1 << " of " << text.size() - prompt);
      REQUIRE(int{best.byte} == int{text[prompt + i]});
      logits = model.read({&best.byte, 1});
    }
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::model
