// What the programs of the chapter and its parts share: options that only parts have, and what is
// said of a problem.
#include "attention_program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "common/testing/program_run.hpp"

namespace tutorial::flash_attention {
namespace {

using Catch::Matchers::MessageMatches;

Options options_of(Words words) {
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return read_options(static_cast<int>(arguments.size()), arguments.data(),
                      with_attention({.texts = {lengths_option()}, .steps = listed(steps)}));
}

TEST_CASE("a program's --lengths are those of its sequences") {
  const auto given = [](const Words& more, const std::string& keys_of_all = "5") {
    const Options options = options_of(
        Words{"--batch", "2", "--seq", "4", "--seq-kv", keys_of_all, "--head-dim", "8"} + more);
    const Attention shape = attention_of(options);
    const GivenLengths lengths(options, shape);
    const Attention on_host = lengths.on_host(shape);
    std::vector<int64_t> keys;
    if (on_host.lengths.keys != nullptr)
      keys.assign(on_host.lengths.keys, on_host.lengths.keys + shape.B);
    CHECK(lengths.any() == !keys.empty());
    CHECK(on_host.lengths.queries == (shape.Tq == shape.Tk ? on_host.lengths.keys : nullptr));
    return std::pair(keys, lengths.text(shape));
  };
  CHECK(given({}) == std::pair(std::vector<int64_t>(), std::string()));
  CHECK(given({"--lengths", "3,5"}) ==
        std::pair(std::vector<int64_t>{3, 5},
                  std::string("keys have lengths: 8 of 10 tokens are there")));
  CHECK(given({"--lengths", "0,4"}, "4").second ==
        "queries and keys have lengths: 4 of 8 tokens are there");
  CHECK_THROWS_MATCHES(given({"--lengths", "3"}), Error,
                       MessageMatches(ContainsSubstring("names 1 lengths, and there are 2")));
  CHECK_THROWS_AS(given({"--lengths", "3,6"}), Error);  // of 5 keys
}

TEST_CASE("a program runs the steps that take the problem, or those that are named") {
  CHECK(steps_for(options_of({}), steps, 0).size() == steps.size());
  CHECK(steps_for(options_of({}), steps, LENGTHS).empty());
  const auto named = steps_for(options_of({"--kernel", "q_outer"}), steps, LENGTHS);
  REQUIRE(named.size() == 1);
  CHECK(std::string(named[0].name) == "q_outer");
}

TEST_CASE("a program says where few queries read more than they compute") {
  const auto reads = [](int64_t NH, int64_t Tq, int64_t Tk) {
    return reads_more_than_it_computes({.NH = NH, .NH_kv = 2, .Tq = Tq, .Tk = Tk});
  };
  CHECK(reads(2, 64, 1025));
  CHECK_FALSE(reads(2, 64, 1024));  // 16 keys a query
  CHECK_FALSE(reads(2, 65, 2000));
  CHECK(reads(8, 16, 257));
  CHECK_FALSE(reads(10, 16, 257));  // 80 rows share keys
  CHECK_FALSE(reads(0, 1, 100));
}

TEST_CASE("a program's plain copy is one of all keys") {
  const Attention shape = {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 5, .HS = 8};
  const Row row = plain_copy(shape, static_cast<const float*>(nullptr)),
            narrow = plain_copy(shape, static_cast<const __nv_bfloat16*>(nullptr));
  CHECK(row.shape == std::vector<int64_t>{2, 2, 5, 8});
  CHECK(narrow.shape == row.shape);
  CHECK(row.cost.bytes == 2 * 4 * 160);  // read and written
  CHECK(narrow.cost.bytes == 2 * 2 * 160);

  std::vector<float> values = make_values(row.shape, Init::normal, 1);
  const DeviceBuffer<float> k(values);
  DeviceBuffer<float> copy(160);
  plain_copy(shape, k.data()).launch(copy.data());
  const std::vector<float> copied = copy.to_host();
  Launched launched;
  launched.output = copied;
  CHECK(compare_copy(launched, values).ok);
  values.back() += 1;
  CHECK_THAT(compare_copy(launched, values).report, ContainsSubstring("the copy differs from k"));
}

TEST_CASE("a program's least work is that of its sequences' own lengths") {
  Attention shape = {.B = 2, .NH = 2, .Tq = 4, .Tk = 4, .HS = 8, .causal = false};
  const auto is = [&](double pairs, double q_rows, double kv_rows) {
    const Work work = work_of(shape);
    CHECK(work.flop == 4 * 8 * pairs);
    CHECK((work.q_rows == q_rows && work.kv_rows == kv_rows));
  };
  is(4 * 16, 16, 8);
  const int64_t lengths[] = {3, 1};
  shape.lengths.keys = lengths;
  is(2 * (4 * 3 + 4 * 1), 16, 4);
  shape.lengths.queries = lengths;
  is(2 * (3 * 3 + 1 * 1), 8, 4);
}

}  // namespace
}  // namespace tutorial::flash_attention
