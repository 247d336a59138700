// How the queries are cut, and strips of any height.
#include "strips/strips.hpp"

#include <algorithm>

#include "../tests/attention_testing.hpp"

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

TEST_CASE("any strip: at its edges, with a last one that is shorter") {
  const auto step = EACH_STEP(all_pipelines());
  Attention a = {.B = 2, .C = 12, .NH = 3, .block_size = 32};
  a.NH = GENERATE(1, 3);
  a.causal = GENERATE(true, false);
  for (const int64_t strip : {1, 6, 16})
    for (const int64_t T : {1, 15, 16, 17, 33, 48}) {
      a.T = T;
      a.strip_height = strip;
      check_pipeline(step, a, values_for(a));
    }
}

}  // namespace
}  // namespace tutorial::unfused_attention::strips
