// How the queries are cut, and strips of any height.
#include "strips/strips.hpp"

#include <algorithm>

#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "tests/every_pipeline.hpp"

namespace tutorial::unfused_attention::strips {
namespace {

TEST_CASE("strips hold every query once, with all keys that it sees") {
  Attention a = GENERATE(Attention{.B = 2, .T = 33, .C = 10, .NH = 5},
                         Attention{.B = 1, .T = 1, .C = 1, .NH = 1},
                         Attention{.B = 13, .T = 300, .C = 10, .NH = 10});
  a.causal = GENERATE(true, false);
  a.strip_height = GENERATE(0, 1, 8, 32, 33, 34);
  for (const auto& step : steps) {
    CAPTURE(step.name, a.B, a.T, a.NH, a.causal, a.strip_height);
    const Cut cut = cut_of(a, step);
    std::vector<int> times(a.T, 0);
    int64_t most = 0, wrong = 0, room = 0, i = 0;
    for (const Strip& strip : strips_of(a, cut)) {
      for (int64_t query = 0; query < strip.queries; ++query) ++times[strip.first_query + query];
      wrong += strip.keys != (a.causal ? strip.first_query + strip.queries : a.T);
      wrong += strip.first_query != i * cut.height;
      const int64_t stream = stream_of(i++, cut.streams);
      wrong += stream < 0 || stream >= cut.streams;
      const int64_t scores = a.heads() * strip.queries * strip.keys;
      most = std::max(most, scores);
      room = std::max(room, scores_of(a, cut, stream) + scores);
    }
    CHECK(wrong == 0);
    CHECK(std::count(times.begin(), times.end(), 1) == a.T);
    CHECK(most <= scores_of(a, cut, 1));  // no stream reaches into the next,
    CHECK(room <= a.scores());            // nor the last one beyond preatt
  }
}

TEST_CASE("there are no strips of nothing") {
  for (const Attention& a :
       {Attention{.B = 0, .T = 5, .C = 6, .NH = 2}, Attention{.B = 2, .T = 5, .C = 0, .NH = 2}})
    CHECK(strips_of(a, {.height = 4}).empty());
}

TEST_CASE("the rule for strips") {
  const Attention article = {.B = 8, .T = 1024, .C = 768, .NH = 12};
  CHECK(cut_of(article, 1).height == 256);
  CHECK(cut_of(article, MOST_STREAMS).height == 128);
  CHECK(cut_of(article, MOST_STREAMS).streams == 4);
  Attention other = article;
  other.B = 1;  // 12 heads: a strip of 1024 rows is all of it
  CHECK(cut_of(other, MOST_STREAMS).height == 1024);
  CHECK(cut_of(other, MOST_STREAMS).streams == 1);
  other.T = 2500;
  CHECK(cut_of(other, MOST_STREAMS).height == 1024);
  CHECK(cut_of(other, MOST_STREAMS).streams == 2);
  other.causal = false;
  CHECK(cut_of(other, MOST_STREAMS).height == 2500);
  CHECK(cut_of(other, 1).height == 2500);
}

TEST_CASE("any strip: at its edges, with a last one that is shorter", "[shapes]") {
  check_any_strip(EACH_STEP(steps));
}

// All strips of a shape are read in the same way, 16 bytes at a time or 4: the formula counts a
// kernel's launches, and these are two kernels.
TEST_CASE("strips ask for what the headers of their kernels say", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.B = 2, .T = 28, .C = 10, .NH = 5, .block_size = 32, .strip_height = 8},
           {.B = 1, .T = 64, .C = 8, .NH = 2, .block_size = 64, .strip_height = 16},
           {.B = 1, .T = 21, .C = 6, .NH = 3, .causal = false, .block_size = 32},
           {.B = 2, .T = 33, .C = 6, .NH = 3, .block_size = 32, .strip_height = 33}}) {
    CAPTURE(step.name, a.B, a.T, a.NH, a.causal);
    const DeviceBuffer<float> qkv(values_for(a));
    DeviceBuffer<float> out(a.elements());
    StageWorkspace workspace(a);
    check_asked_for(step, [&](auto run) { return run(a, qkv.data(), workspace, out.data()); },
                    {.more = a.T % 4 == 0 ? 12 * a.heads() * a.T : 0});
  }
}

TEST_CASE("strips: the program checks both steps, and finds one wrong element", "[program]") {
  const Words small = {"--batch", "2",       "--seq", "10",      "--channels",
                       "6",       "--heads", "2",     "--strip", "4"};
  const ProgramRun run = run_program(small);
  check_all_right(run, names_of(steps) + Words{"row_in_registers"},
                  {.flop = 4 * 110 * 6, .bytes = 16 * 20 * 6});
  // Of 4 heads the rows of 3 strips, in 16 bytes where 4 or 8 keys allow it; and pointers.
  check_counted(run.row("causal_strips"),
                {{"global_load_bytes", 4 * 4 * (4 * 4 + 4 * 8 + 9 + 10)},
                 {"global_store_bytes", 4 * 4 * (4 * 4 + 4 * 8 + 2 * 10) + 48 * 4 * 3}});
  check_counted(run.row("row_in_registers"),
                {{"global_load_bytes", 4 * 220}, {"global_store_bytes", 4 * 400 + 48 * 4}});
  // 4 heads, strips of 4 queries, 10 keys, 4 bytes; two strips at once.
  CHECK_THAT(run.out, ContainsSubstring("of preatt alone, causal_strips uses 640 B, "
                                        "overlapped_strips uses 1.28 kB, row_in_registers all"));
  check_wrong(run_spoiled(small, {"causal_strips", 119, 1, 0.001f}),
              {"1 of 120 elements", "out[1][9][5]"});
}

TEST_CASE("strips: the program compares some rows of a large result", "[program]") {
  // A row takes 10·(2·6 + 20·1) = 320 steps of the reference.
  const Words sizes = {"--batch", "2",       "--seq", "10",       "--channels",
                       "6",       "--heads", "1",     "--kernel", "causal_strips"};
  check_wrong(run_as_large(sizes, 15 * 320, {"causal_strips", 119, 1, 1}),
              {"1 of 96 checked elements (16 of 20 rows)", "out[1][9][5]"});
}

TEST_CASE("strips: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--batch", "2", "--seq", "10", "--channels", "6",
                                            "--heads", "2", "--strip", "4"});
}

}  // namespace
}  // namespace tutorial::unfused_attention::strips
