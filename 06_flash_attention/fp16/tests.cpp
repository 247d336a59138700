// Every step on shapes, addresses and scores that its likely mistakes do not survive; what fp16
// cannot hold; what the steps ask for and refuse; the program, and the reference itself.
#include <algorithm>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "fp16/tests/problems.hpp"

namespace tutorial::flash_attention::fp16 {
namespace {

using Catch::Matchers::MessageMatches;

TEST_CASE("fp16: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 16},
      {.Tq = 5, .Tk = 3, .HS = 8},       // less than a tile; queries without keys
      {.Tq = 64, .Tk = 64, .HS = 64},    // whole tiles
      {.Tq = 130, .Tk = 200, .HS = 40},  // tails everywhere, 4 tiles of keys
      {.Tq = 140, .Tk = 90, .HS = 16},   // the edge lies inside a tile of queries
      {.Tq = 1, .Tk = 150, .HS = 128},   // one query, as in decoding
      {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 37, .Tk = 70, .HS = 24},
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 32},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 40, .HS = 104},
      {.Tq = 32, .Tk = 97, .HS = 48, .causal = false},
      {.Tq = 70, .Tk = 150, .HS = 72, .causal = false},
      {.Tq = 67, .Tk = 131, .HS = 128},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("fp16: every step is right for all head sizes", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (int64_t HS = 8; HS <= 128; HS += 8)
    check_step(step, normal_problem({.Tq = 19, .Tk = 70, .HS = HS, .causal = false}));
}

TEST_CASE("fp16: every step takes any address that a __half can have", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const Problem problem =
      normal_problem({.B = 1, .NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = 24});
  for (int64_t offset : {1, 2, 4}) {
    check_step(step, problem, {.q = offset});
    check_step(step, problem, {.k = offset});
    check_step(step, problem, {.v = offset});
    check_step(step, problem, {.out = offset});
    check_step(step, problem, {offset, offset + 1, offset, offset + 1, offset});
  }
  check_step(step, problem, {.q = 8, .k = 16, .v = 24, .out = 40, .lse = 3});
}

TEST_CASE("fp16: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -15e3f, 15e3f}) {  // 4 · 15,000 is near fp16's end
    INFO("scores near " << shift);
    check_both(step, {.Tq = 17, .Tk = 130, .HS = 16}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t) { return shift; });
    });
  }
}

TEST_CASE("fp16: every step rescales when the maximum rises, and when it falls", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float slope : {0.1f, 0.05f, 0.02f, -0.1f})
    check_both(step, {.Tq = 19, .Tk = 300, .HS = 40}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t j) { return slope * static_cast<float>(j); });
    });
}

// Segments as wide as a tile, as the keys of a quad's fragment, and a tile's but one.
TEST_CASE("fp16: every step takes maxima that rise, fall, jump or are −∞", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [segments, width] : {std::pair<int, int64_t>{3, 64}, {2, 8}, {2, 63}}) {
    INFO(segments << " segments of " << width << " keys");
    check_step(step, hard_problem(segments, width, 16, width % 3 == 0));
  }
}

// A key of −∞ is masked for every query, wherever its tile is.
TEST_CASE("fp16: every step survives tiles that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.Tq = 20, .Tk = 200, .HS = 16};
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 63, 0);      // the first tile
  masked(0, 150, -100);  // and what is left is small: 0 is not a maximum that may be kept
  masked(64, 127, -100);
  masked(130, 199, 0);  // the last ones
  masked(0, 199, 0);    // all
}

TEST_CASE("fp16: every step passes NaN and infinite scores on to their queries, and to no others",
          "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t HS = 16;
  Problem problem = normal_problem({.Tq = 40, .Tk = 40, .HS = HS});
  problem.q[3 * HS + 1] = std::nanf("");  // query 3
  problem.k[30 * HS + 2] = 1e5f;          // key 30: ±∞ in fp16, for the queries from 30 on
  check_step(step, problem);
}

// The products of these and the scores are far beyond 65504, and fp32 holds them.
TEST_CASE("fp16: every step takes large queries, keys and values", "[values]") {
  const auto step = EACH_STEP(steps);
  Problem problem = normal_problem({.Tq = 40, .Tk = 100, .HS = 32});
  for (float& x : problem.q) x *= 500;
  for (float& x : problem.k) x *= 100;
  for (float& x : problem.v) x *= 10000;
  check_step(step, problem);
}

// One key has weight 1 and hundreds have about 2^-20, of which fp16 keeps four bits, or 2^-26, of
// which it keeps none. Their values are what makes them count.
TEST_CASE("fp16: every step keeps what fp16 keeps of small weights", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float power : {-14.3f, -20.3f, -26.0f}) {
    const Attention shape = {.Tq = 3, .Tk = 257, .HS = 16, .causal = false};
    Problem problem = normal_problem(shape);
    std::ranges::fill(problem.q, 0.0f);
    std::ranges::fill(problem.k, 0.0f);
    for (int64_t i = 0; i < shape.Tq; ++i) problem.q[i * 16] = 1;
    for (int64_t j = 0; j < shape.Tk; ++j) {
      problem.k[j * 16] = j == 0 ? 0 : 4 * power * std::log(2.0f);
      for (int64_t d = 0; d < 16; ++d) problem.v[j * 16 + d] *= j == 0 ? 1 : 5000;
    }
    check_step(step, problem);
  }
}

TEST_CASE("fp16: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0, .HS = 8}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 8}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 8}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  step.launch({.Tq = 5, .Tk = 5, .HS = 0}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("fp16: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  for (int64_t of_q : {0, 1}) {
    const Problem problem = normal_problem({.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 24});
    tensor_cores::check_problem_in_two_streams<__half>(
        problem, of_q, 0,
        [&](const Attention& x, const __half* q, const __half* k, const __half* v, __half* out,
            float* lse, Workspace,
            cudaStream_t stream) { step.launch(x, q, k, v, out, lse, stream); });
  }
}

TEST_CASE("fp16: every step asks for what its header says, without bank conflicts", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 64, .causal = false},
           {.Tq = 150, .Tk = 140, .HS = 24},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 104}}) {
    CAPTURE(step.name, text(a));
    const Problem p = normal_problem(a);
    const DeviceBuffer<__half> q(narrowed<__half>(p.q)), k(narrowed<__half>(p.k)),
        v(narrowed<__half>(p.v));
    DeviceBuffer<__half> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    const auto call = [&](auto run) {
      return run(a, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
    };
    check_no_conflicts(check_asked_for(step, call));
  }
}

TEST_CASE("fp16: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto refuses = [&](const Attention& shape, const char* what) {
    CHECK_THROWS_MATCHES(step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
                         Error, MessageMatches(ContainsSubstring(what)));
  };
  refuses({.HS = 20}, "head size 20 is no multiple of 8");
  refuses({.B = 0, .HS = 136}, "takes at most 128");  // so the program asks
  refuses({.NH = 6, .NH_kv = 4, .HS = 8}, "--heads a multiple of --kv-heads");
  refuses({.NH = 6, .NH_kv = 0, .HS = 8}, "cannot share 0 key and value heads");
  refuses({.Tq = -1, .HS = 8}, "a size is -1");
  refuses({.B = 0, .HS = 8, .strides = {.v = {48, 8, 16}}}, "and no strides");
  const int64_t* const some = reinterpret_cast<const int64_t*>(uintptr_t{256});  // never read
  refuses({.B = 0, .HS = 8, .lengths = {.keys = some}}, "one length for all sequences");
  const SmallGrid grid(2, 2);
  refuses({.NH = 3, .NH_kv = 3, .HS = 8}, "3 blocks are more than the 2 that a grid can have");
  CHECK(cudaGetLastError() == cudaSuccess);
}

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("fp16: the program checks every step, and says that it rounds", "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "14"));
  // Of a head 3 + 4 + … + 14 = 102 pairs of query and key, 4·8 FLOP each. 24 rows of q and out, 14
  // of k and v, of 8 numbers of 2 bytes; and lse.
  check_all_right(run, names_of(steps),
                  {.flop = 2 * 102 * 32, .bytes = 4 * (24 + 14) * 8 + 4 * 24});
  // Each of two heads reads its 12 rows of q, and the 14 of k and v for itself; lse.
  check_counted(run.row("fragments"), {{"global_load_bytes", 2 * 8 * (24 + 2 * 2 * 14)},
                                       {"global_store_bytes", 2 * 24 * 8 + 4 * 24}});
  CHECK_THAT(run.out, ContainsSubstring("out[1×2×12×8] = softmax(q·kᵀ/√8)·v, 14 keys, 1 key and "
                                        "value heads, causal, fp16\n6.53 kFLOP, at least 1.31 kB"));
  CHECK_THAT(run.out, ContainsSubstring("q, k and v are rounded to fp16 (to nearest even)"));
}

TEST_CASE("fp16: the program finds one wrong element of out, and of lse", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "fragments"};
  check_wrong(run_spoiled(small, {"fragments", 191, 1, 0.1f}),
              {"1 of 192 elements", "out[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"fragments", 192 + 23, 1, 0.001f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

// Of a large one 64 rows are compared, or as many as the host can afford. Beside the wrong step
// another one is right.
TEST_CASE("fp16: the program compares some rows of a large result", "[program]") {
  const Words two = {"--kernel", "fragments,registers_ahead"};
  check_wrong(run_as_large(sizes("1", "1", "66", "70") + two, 1000, {"fragments", 65 * 8, 1, 1}),
              {"1 of 512 checked elements (64 of 66 rows)", "out[65][0]"});
}

TEST_CASE("fp16: the reference has the chapter's values, and bounds of fp16") {
  for (Attention shape :
       std::vector<Attention>{{.B = 2, .NH = 4, .NH_kv = 2, .Tq = 7, .Tk = 5, .HS = 24},
                              {.Tq = 100, .Tk = 100, .HS = 64, .causal = false},
                              {.Tq = 3, .Tk = 0, .HS = 8}}) {
    const Problem problem = tensor_cores::in_type<__half>(normal_problem(shape));
    const Reference got = tensor_cores::reference_of<__half>(problem),
                    want = flash_attention::reference(problem);
    CHECK(got.out.value == want.out.value);
    CHECK(got.lse.value == want.lse.value);
    for (size_t i = 0; i < got.out.value.size(); ++i) {
      CHECK(got.out.bound[i] >= want.out.bound[i]);
      // Of out 2^-11, and as much of Σ p·|v|, which is less than 4 here; and float32's part.
      CHECK(got.out.bound[i] <= 0x1p-11 * (std::abs(got.out.value[i]) + 4) + 4 * want.out.bound[i]);
    }
    for (double bound : got.lse.bound) CHECK(bound < 4e-4);
  }
}

TEST_CASE("fp16: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "14"));
}

}  // namespace
}  // namespace tutorial::flash_attention::fp16
