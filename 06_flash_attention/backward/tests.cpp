// Every step of the backward pass on shapes and values that its likely mistakes do not survive;
// what the kernels ask for; the program; and the reference itself, beside differences of the loss.
#include <catch2/catch_approx.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>

#include "backward/backward.hpp"
#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::backward {
namespace {

using Catch::Matchers::MessageMatches;

/// q, k, v and dout, and what a forward pass gives for them.
struct Problem {
  Attention shape;
  std::vector<float> q, k, v, dout, out, lse;
  HostTensors host() const { return {q, k, v, out, dout, lse}; }
};

void forward(Problem& problem) {
  const flash_attention::Reference want = flash_attention::reference(
      problem.shape, problem.q, problem.k, problem.v, all_rows(problem.shape.rows()));
  problem.out.assign(want.out.value.begin(), want.out.value.end());
  problem.lse.assign(want.lse.value.begin(), want.lse.value.end());
}

Problem normal_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  Problem problem = {.shape = shape,
                     .q = make_values({B, NH, Tq, HS}, Init::normal, 1),
                     .k = make_values({B, NH_kv, Tk, HS}, Init::normal, 2),
                     .v = make_values({B, NH_kv, Tk, HS}, Init::normal, 3),
                     .dout = make_values({B, NH, Tq, HS}, Init::normal, 4),
                     .out = {},
                     .lse = {}};
  forward(problem);
  return problem;
}

/// Adds about add(j) to the score of key j, for all queries.
Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add) {
  Problem problem = normal_problem(shape);
  const auto HS = static_cast<size_t>(shape.HS);
  for (size_t i = 0; i < problem.q.size(); i += HS) problem.q[i] = 1;
  for (size_t j = 0; j < problem.k.size(); j += HS)
    problem.k[j] = std::sqrt(static_cast<float>(HS)) * add(static_cast<int64_t>(j / HS) % shape.Tk);
  forward(problem);
  return problem;
}

/// All rows.
Reference reference(const Problem& problem) {
  return reference(problem.shape, problem.host(), all_rows(query_rows(problem.shape)),
                   all_rows(key_rows(problem.shape)));
}

std::string text(const Attention& s) {
  return "B=" + std::to_string(s.B) + " NH=" + std::to_string(s.NH) +
         " NH_kv=" + std::to_string(s.NH_kv) + " Tq=" + std::to_string(s.Tq) +
         " Tk=" + std::to_string(s.Tk) + " HS=" + std::to_string(s.HS) +
         (s.causal ? " causal" : " full");
}

/// Does the step need more shared memory for this head size than the device has?
bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(step.name, [&] { step.launch(shape, {}); });
}

/// A step's tensors in global memory; the outputs and the scratch are NaN. `offset` (in floats)
/// moves the tensor of that number from an address that is a multiple of 256 bytes.
struct OnDevice {
  OnDevice(const Step<Launcher>& step, const Problem& problem,
           const std::vector<int64_t>& offset = std::vector<int64_t>(10))
      : q(problem.q, offset[0]),
        k(problem.k, offset[1]),
        v(problem.v, offset[2]),
        out(problem.out, offset[3]),
        dout(problem.dout, offset[4]),
        lse(problem.lse, offset[5]),
        dq(static_cast<int64_t>(problem.q.size()), offset[6]),
        dk(static_cast<int64_t>(problem.k.size()), offset[7]),
        dv(static_cast<int64_t>(problem.v.size()), offset[8]),
        scratch(scratch_floats(problem.shape, step.launch), offset[9]) {}
  Tensors tensors() {
    return {q.data(),   k.data(),  v.data(),  out.data(), dout.data(),
            lse.data(), dq.data(), dk.data(), dv.data(),  scratch.data()};
  }
  DeviceBuffer<float> q, k, v, out, dout, lse, dq, dk, dv, scratch;
};

void check_step(const Step<Launcher>& step, const Problem& problem,
                const std::vector<int64_t>& offset = std::vector<int64_t>(10)) {
  const Attention& shape = problem.shape;
  if (is_too_large_here(step, shape)) return;
  INFO(step.name << " " << text(shape));
  for (size_t i = 0; i < offset.size(); ++i)
    if (offset[i] != 0) UNSCOPED_INFO("tensor " << i << " begins at float " << offset[i]);
  OnDevice on(step, problem, offset);
  const Reference want = reference(problem);
  step.launch(shape, on.tensors());
  CUDA_CHECK_LAUNCH();
  const auto check = [&](const char* name, const DeviceBuffer<float>& got, const Expected& expected,
                         int64_t heads, int64_t rows) {
    const Comparison comparison =
        compare(got.to_host(), expected,
                {.name = name, .batch = heads, .rows = rows, .cols = shape.HS, .tile = step.tile});
    if (comparison.ok)
      SUCCEED();
    else
      FAIL_CHECK(comparison.report);
    if (!got.guards_intact()) FAIL_CHECK("the kernel wrote outside of " << name);
  };
  check("dq", on.dq, want.dq, shape.B * shape.NH, shape.Tq);
  check("dk", on.dk, want.dk, shape.B * shape.NH_kv, shape.Tk);
  check("dv", on.dv, want.dv, shape.B * shape.NH_kv, shape.Tk);
  if (!on.scratch.guards_intact()) FAIL_CHECK("the kernel wrote outside of scratch");
}

TEST_CASE("backward: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 1},
      {.Tq = 5, .Tk = 3, .HS = 5},       // less than a tile; queries without keys
      {.Tq = 20, .Tk = 160, .HS = 40},   // a tile of keys that all queries see
      {.Tq = 140, .Tk = 150, .HS = 33},  // tails everywhere
      {.Tq = 190, .Tk = 20, .HS = 64},   // a tile of queries without keys
      {.Tq = 1, .Tk = 70, .HS = 128},    // a tile has 64 keys
      {.NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 20},  // grouped queries
      {.B = 2, .NH = 3, .NH_kv = 1, .Tq = 10, .Tk = 70, .HS = 101},
      {.Tq = 5, .Tk = 3, .HS = 5, .causal = false},
      {.Tq = 70, .Tk = 40, .HS = 72, .causal = false},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("backward: every step is right for whole tiles on both sides of the diagonal") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 128, .Tk = 128, .HS = 128}));
}

TEST_CASE("backward: every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps);
  const Problem small = normal_problem({.Tq = 5, .Tk = 9, .HS = 32});
  for (size_t tensor = 0; tensor < 10; ++tensor) {
    std::vector<int64_t> one(10);
    one[tensor] = static_cast<int64_t>(1 + tensor % 3);
    check_step(step, small, one);
  }
  check_step(step, small, std::vector<int64_t>(10, 1));
}

TEST_CASE("backward: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 4}));  // dk and dv are zeros
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 4}));  // dq is
  const Attention no_columns = {.Tq = 5, .Tk = 5, .HS = 0};
  if (is_too_large_here(step, no_columns)) return;
  step.launch(no_columns, {});
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("backward: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_step(step, with_scores({.Tq = 20, .Tk = 15, .HS = 5, .causal = shift < 0},
                                 [&](int64_t) { return shift; }));
  }
  check_step(step, with_scores({.Tq = 20, .Tk = 140, .HS = 5},
                               [](int64_t j) { return 0.1f * static_cast<float>(j); }));
}

TEST_CASE("backward: five_products adds to dq where it does not do all keys at a time") {
  const Step<Launcher> step = runnable(steps).back();
  if (step.launch != &five_products) SKIP("another step is wanted");
  const int64_t before = std::exchange(blocks_at_a_time, 2);
  check_step(step, normal_problem({.NH = 2, .NH_kv = 1, .Tq = 20, .Tk = 300, .HS = 8}));
  check_step(step, normal_problem({.Tq = 70, .Tk = 150, .HS = 100}));
  blocks_at_a_time = before;
}

// Not on the simulator alone: it runs the blocks in the same order every time.
TEST_CASE("backward: every step gives the same bits again") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 40, .Tk = 30, .HS = 72};
  if (is_too_large_here(step, shape)) return;
  const Problem problem = normal_problem(shape);
  OnDevice on(step, problem);
  const auto bits = [&] {
    for (DeviceBuffer<float>* buffer : {&on.dq, &on.dk, &on.dv, &on.scratch}) buffer->poison();
    step.launch(shape, on.tensors());
    std::vector<float> all = on.dq.to_host();
    for (const DeviceBuffer<float>* buffer : {&on.dk, &on.dv})
      for (float value : buffer->to_host()) all.push_back(value);
    return all;
  };
  const std::vector<float> first = bits();
  for (int i = 0; i < (device_has_clock() ? 20 : 1); ++i) CHECK(bits() == first);
}

TEST_CASE("backward: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape) { step.launch(shape, {}); };
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.Tq = -1}), Error);
  if (is_too_large_here(step, {.HS = 128})) return;
  if (step.launch != &unfused) {
    CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 129}), Error,
                         MessageMatches(ContainsSubstring("head size 129 is too large for " +
                                                          std::string(step.name))));
  }
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      launch({.NH = 3, .NH_kv = 3}), Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
}

// ---- what the kernels ask for

Counts counts_of_step(const Step<Launcher>& step, const Attention& shape) {
  OnDevice on(step, normal_problem(shape));
  return counts_of([&] { step.launch(shape, on.tensors()); });
}

TEST_CASE("backward: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 20, .Tk = 10, .HS = 64, .causal = false},
           {.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 72, .causal = false}}) {
    if (is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    OnDevice on(step, normal_problem(a));
    check_asked_for({{"B", a.B},
                     {"NH", a.NH},
                     {"NH_kv", a.NH_kv},
                     {"Tq", a.Tq},
                     {"Tk", a.Tk},
                     {"HS", a.HS},
                     {"b", tile_size(a.HS)}},
                    [&] { step.launch(a, on.tensors()); });
  }
}

/// What the mask lets a step leave out: loads and stores of tiles of b×b pairs that it hides from
/// end to end.
struct Saved {
  int64_t loads = 0, stores = 0;
};
Saved saved_by(const Step<Launcher>& step, const Attention& shape) {
  const int64_t HS = shape.HS, b = step.launch == &fused ? 32 : tile_size(HS);
  Saved saved;
  for (int64_t i0 = 0; i0 < shape.Tq; i0 += b)
    for (int64_t j0 = 0; j0 < shape.Tk; j0 += b) {
      const int64_t queries = std::min(b, shape.Tq - i0), keys = std::min(b, shape.Tk - j0);
      if (shape.visible_keys(i0 + queries - 1) > j0) continue;
      saved.loads += 8 * queries * HS;  // q and dout of the one kernel
      if (step.launch == &five_products) {
        saved.loads += 8 * queries + 4 * queries * HS;  // lse and D; a part of dq
        saved.stores += 4 * queries * HS;
      } else {
        saved.loads += 8 * keys * HS;  // k and v of the other
        if (step.launch == &register_tiles) saved.loads += 2 * 8 * queries;
      }
    }
  return saved;
}

TEST_CASE("backward: every fused step leaves out the tiles that the mask hides", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  Attention shape = {.Tq = 65, .Tk = 66, .HS = 68};
  if (is_too_large_here(step, shape)) return;
  CAPTURE(step.name);
  const Counts causal = counts_of_step(step, shape);
  Saved saved = saved_by(step, shape);
  int64_t hidden = 0;  // pairs
  for (int64_t i = 0; i < shape.Tq; ++i) hidden += shape.Tk - shape.visible_keys(i);
  if (step.launch == &unfused) saved = {.loads = 4 * hidden};  // lse alone
  if (step.launch == &fused) saved.loads += 2 * 8 * hidden;    // lse and D, for each pair
  shape.causal = false;
  const Counts full = counts_of_step(step, shape);
  CHECK(full.loads.bytes - causal.loads.bytes == saved.loads);
  CHECK(full.stores.bytes - causal.stores.bytes == saved.stores);
}

// ---- the program

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--part", "backward", "--batch", "1",        "--heads", heads,        "--kv-heads",
          kv_heads, "--seq",    queries,   "--seq-kv", keys,      "--head-dim", "8"};
}

TEST_CASE("backward: the program checks every step, and says what each keeps", "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "12"));
  // Of a head 78 pairs, 10·8 FLOP each. 24 rows of q, out, dout and dq, 12 of k, v, dk and dv, of 8
  // floats; and lse.
  check_all_right(run, names_of(steps),
                  {.flop = 2 * 78 * 80, .bytes = 16 * (24 + 12) * 8 + 4 * 24});
  CHECK_THAT(run.out,
             ContainsSubstring("dq, dk, dv of softmax(q·kᵀ/√8)·v, q[1×2×12×8], 12 keys, 1 key and "
                               "value heads, causal, fp32\n12.5 kFLOP, at least 4.70 kB"));
  CHECK_THAT(run.out, ContainsSubstring("unfused 2.30 kB for p and ds (8·B·NH·Tq·Tk); all steps "
                                        "96 B for D (4·B·NH·Tq), and five_products 784 B"));
}

TEST_CASE("backward: the program counts the pairs that are seen", "[program]") {
  const auto costs = [](const Words& options, double pairs, double bytes) {
    const ProgramRun run = run_program(options + Words{"--kernel", "fused"});
    check_all_right(run, {"fused"}, {.flop = 80 * pairs, .bytes = bytes});
  };
  costs(sizes("2", "2", "10", "14"), 2 * (10 * 4 + 55), 16 * (20 + 28) * 8 + 4 * 20);
  costs(sizes("1", "1", "14", "10"), 55, 16 * (14 + 10) * 8 + 4 * 14);
  costs(sizes("1", "1", "14", "10") + Words{"--full"}, 140, 16 * (14 + 10) * 8 + 4 * 14);
}

TEST_CASE("backward: the program finds one wrong element of dq, of dk and of dv", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "unfused"};
  check_wrong(run_stand_in(small, {.first = 191, .count = 1, .by = 0.001f}), "unfused",
              {"1 of 192 elements", "dq[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_stand_in(small, {.first = 192 + 103, .count = 1, .by = 0.001f}), "unfused",
              {"1 of 104 elements", "dk[12][7]"});
  check_wrong(run_stand_in(small, {.first = 192 + 104, .count = 1, .by = 0.001f}), "unfused",
              {"1 of 104 elements", "dv[0][0]"});
}

// ---- the reference itself

/// The loss Σ dout·out in double, from tensors in double.
double loss(const Attention& shape, const std::vector<double>& q, const std::vector<double>& k,
            const std::vector<double>& v, const std::vector<float>& dout) {
  const int64_t HS = shape.HS;
  double sum = 0;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    const int64_t i = row % shape.Tq, kv_head = row / shape.Tq / (shape.NH / shape.NH_kv);
    double l = 0, weighted = 0;
    for (int64_t j = 0; j < shape.Tk; ++j) {
      if (shape.causal && j > i + shape.Tk - shape.Tq) continue;
      double s = 0, dp = 0;
      for (int64_t d = 0; d < HS; ++d) {
        s += q[row * HS + d] * k[(kv_head * shape.Tk + j) * HS + d];
        dp += dout[row * HS + d] * v[(kv_head * shape.Tk + j) * HS + d];
      }
      const double weight = std::exp(s / std::sqrt(static_cast<double>(HS)));
      l += weight;
      weighted += weight * dp;
    }
    if (l > 0) sum += weighted / l;
  }
  return sum;
}

// Element by element: (loss(x + h) − loss(x − h)) / 2h. It is off by h²/6 times the third
// derivative and by 1e-16·loss/h; the reference by the rounding of out and lse to float32, 1e-7 of
// its terms.
TEST_CASE("backward: the reference is the slope of the loss") {
  for (const Attention& shape :
       std::vector<Attention>{{.Tq = 5, .Tk = 5, .HS = 3},
                              {.Tq = 4, .Tk = 6, .HS = 2, .causal = false},
                              {.Tq = 6, .Tk = 3, .HS = 4},  // queries without keys
                              {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 4, .HS = 3},
                              {.NH = 3, .NH_kv = 1, .Tq = 3, .Tk = 2, .HS = 2, .causal = false}}) {
    INFO(text(shape));
    const Problem problem = normal_problem(shape);
    const Reference got = reference(problem);
    const auto as_double = [](const std::vector<float>& x) {
      return std::vector<double>(x.begin(), x.end());
    };
    std::vector<double> q = as_double(problem.q), k = as_double(problem.k),
                        v = as_double(problem.v);
    constexpr double h = 1e-4;
    const auto check = [&](const char* name, std::vector<double>& x, const Expected& gradient) {
      for (size_t e = 0; e < x.size(); ++e) {
        const double at = x[e];
        x[e] = at + h;
        const double above = loss(shape, q, k, v, problem.dout);
        x[e] = at - h;
        const double below = loss(shape, q, k, v, problem.dout);
        x[e] = at;
        INFO(name << "[" << e << "]");
        CHECK(gradient.value[e] == Catch::Approx((above - below) / (2 * h)).margin(2e-6));
      }
    };
    check("dq", q, got.dq);
    check("dk", k, got.dk);
    check("dv", v, got.dv);
  }
}

TEST_CASE("backward: the reference's bound is small enough to mean something") {
  const Reference got = reference(normal_problem({.Tq = 60, .Tk = 60, .HS = 64, .causal = false}));
  for (const Expected* expected : {&got.dq, &got.dk, &got.dv})
    for (double bound : expected->bound) CHECK(bound < 3e-4);
}

TEST_CASE("backward: the reference gives the same numbers where some rows are asked for") {
  const Problem problem = normal_problem({.B = 2, .NH = 2, .NH_kv = 1, .Tq = 5, .Tk = 7, .HS = 3});
  const Reference all = reference(problem);
  const std::vector<int64_t> queries = {0, 7, 19}, keys = {3, 13};
  const Reference some = reference(problem.shape, problem.host(), queries, keys);
  for (int64_t d = 0; d < 3; ++d) {
    for (size_t r = 0; r < queries.size(); ++r)
      CHECK(some.dq.value[r * 3 + d] == all.dq.value[queries[r] * 3 + d]);
    for (size_t r = 0; r < keys.size(); ++r) {
      CHECK(some.dk.value[r * 3 + d] == all.dk.value[keys[r] * 3 + d]);
      CHECK(some.dv.value[r * 3 + d] == all.dv.value[keys[r] * 3 + d]);
    }
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
