// Every step on shapes that likely mistakes do not survive.
#include <cmath>

#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/two_streams.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

bool takes_any_shape(const Step<Launcher>& step) {
  return step.launch == any_shape || step.launch == by_shape;
}

TEST_CASE("backward_tensor_cores: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 64},                  // whole tiles
           {.Tq = 150, .Tk = 150, .HS = 64},                  // two blocks, tails of all
           {.Tq = 90, .Tk = 200, .HS = 40, .causal = false},  // a padded head
           {.Tq = 200, .Tk = 70, .HS = 64},                   // queries without keys
           {.Tq = 70, .Tk = 210, .HS = 24},                   // the mask is shifted
           {.Tq = 100, .Tk = 100, .HS = 128},
           {.Tq = 140, .Tk = 140, .HS = 72, .causal = false},
           {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 66, .Tk = 66, .HS = 16},  // heads share keys
           {.NH = 3, .NH_kv = 1, .Tq = 65, .Tk = 129, .HS = 8, .causal = false},
           {.Tq = 1, .Tk = 1, .HS = 8},
           {.Tq = 1, .Tk = 300, .HS = 16},
           {.Tq = 300, .Tk = 1, .HS = 16, .causal = false},
           {.Tq = 0, .Tk = 70, .HS = 16},
           {.Tq = 70, .Tk = 0, .HS = 16},
           {.B = 0, .Tq = 3, .Tk = 3, .HS = 16},
           {.Tq = 3, .Tk = 3, .HS = 0}})
    check_step(step, bf16_problem(shape));
}

// All scores are near −400. So a key of zeros, as tiles have behind the last one, would have a
// weight past the largest float, and dq a sum of ∞·0.
TEST_CASE("backward_tensor_cores: keys that are not there add nothing to dq") {
  const auto step = EACH_STEP(steps);
  for (const int64_t Tk : {30, 70, 140}) {
    Problem p = bf16_problem({.Tq = 40, .Tk = Tk, .HS = 16, .causal = false});
    for (float& x : p.q) x = 10 + x / 8;
    for (float& x : p.k) x = -10 + x / 8;
    p.q = rounded_to<bf16>(p.q), p.k = rounded_to<bf16>(p.k);
    forward(p);
    check_step(step, p);
  }
}

// Where blocks are few there are several sums: of dk and dv, of which some may have more heads than
// others, and of dq.
TEST_CASE("backward_tensor_cores: every step is right where there are several sums", "[shapes]") {
  const auto step = EACH_STEP(steps);
  struct Case {
    Attention shape;
    int multiprocessors;
    int64_t of_keys, of_queries;
  };
  for (const auto& [shape, multiprocessors, of_keys, of_queries] : std::vector<Case>{
           {{.NH = 3, .NH_kv = 1, .Tq = 500, .Tk = 100, .HS = 128, .causal = false}, 132, 3, 1},
           {{.NH = 5, .NH_kv = 1, .Tq = 100, .Tk = 300, .HS = 72, .causal = false}, 9, 3, 2},
           {{.B = 2, .NH = 6, .NH_kv = 2, .Tq = 600, .Tk = 65, .HS = 24, .causal = false},
            16,
            3,
            1},
           {{.Tq = 3, .Tk = 700, .HS = 64, .causal = false}, 132, 1, 3},
           {{.NH = 4, .NH_kv = 2, .Tq = 150, .Tk = 600, .HS = 48}, 132, 2, 3},
           {{.Tq = 600, .Tk = 600, .HS = 40}, 132, 1, 3}}) {
    const FewMultiprocessors few(multiprocessors);
    const SumCounts counts = sum_counts(shape, multiprocessors);
    CHECK(counts.of_keys == of_keys);
    CHECK(counts.of_queries == of_queries);
    check_step(step, bf16_problem(shape));
  }
}

// Shapes for which an H200, of 132 multiprocessors, was clearly faster one way.
TEST_CASE("backward_tensor_cores: the rules choose what was faster") {
  const auto hopper = [](const Attention& shape) { return prefers_hopper(shape, 132); };
  CHECK(hopper({.B = 4, .NH = 16, .NH_kv = 16, .Tq = 4096, .Tk = 4096, .HS = 128}));
  CHECK(hopper({.B = 18, .NH = 2, .NH_kv = 2, .Tq = 264, .Tk = 264, .HS = 128}));
  CHECK(hopper({.NH = 16, .NH_kv = 2, .Tq = 482, .Tk = 482, .HS = 128, .causal = false}));
  CHECK(!hopper({.NH = 3, .NH_kv = 3, .Tq = 11, .Tk = 11, .HS = 64, .causal = false}));
  CHECK(!hopper({.B = 4, .NH = 4, .NH_kv = 4, .Tq = 2, .Tk = 15, .HS = 128}));
  CHECK(!hopper({.Tq = 0, .Tk = 300, .HS = 64}));
  const auto small = [](const Attention& shape) { return prefers_64_rows(shape, 132); };
  CHECK(small({.NH = 8, .NH_kv = 1, .Tq = 827, .Tk = 827, .HS = 208}));
  CHECK(small({.B = 23, .NH = 3, .NH_kv = 3, .Tq = 1, .Tk = 15, .HS = 152, .causal = false}));
  CHECK(!small({.B = 8, .NH = 56, .NH_kv = 7, .Tq = 671, .Tk = 2293, .HS = 208}));
  CHECK(!small({.NH = 5, .NH_kv = 5, .Tq = 1522, .Tk = 1522, .HS = 160, .causal = false}));
  CHECK(!small({.Tq = 20, .Tk = 0, .HS = 160}));
  for (const Attention& nothing :
       std::vector<Attention>{{.Tq = 30, .Tk = 0, .HS = 64},
                              {.Tq = 3, .Tk = 900, .HS = 0},
                              {.NH = 4, .NH_kv = 0, .Tq = 3, .Tk = 900, .HS = 64}}) {
    const SumCounts one = sum_counts(nothing, 132);
    CHECK((one.of_keys == 1 && one.of_queries == 1));
  }
}

// On both sides of each size that heads are padded to, and rows that cannot be copied 16 bytes at a
// time.
TEST_CASE("backward_tensor_cores: steps any_shape and by_shape are right for every head size",
          "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (!takes_any_shape(step)) return;
  for (const int64_t HS : {1, 7, 63, 65, 72, 96, 100, 104, 127, 129, 136, 192, 200, 250, 256})
    check_step(step, bf16_problem({.Tq = 40, .Tk = 133, .HS = HS}));
  for (const int64_t HS : {136, 192, 200, 256}) {
    const FewMultiprocessors few(1);  // so that blocks have 128 rows
    check_step(step, bf16_problem({.Tq = 140, .Tk = 133, .HS = HS}));
  }
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 256},                  // whole tiles
           {.Tq = 150, .Tk = 40, .HS = 192},                   // queries without keys
           {.Tq = 100, .Tk = 30, .HS = 25},                    // and rows of other lengths
           {.Tq = 140, .Tk = 70, .HS = 144, .causal = false},  // tails of all
           {.Tq = 140, .Tk = 70, .HS = 90, .causal = false},
           {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 33, .Tk = 35, .HS = 136},  // heads share keys
           {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 20, .Tk = 35, .HS = 130},
           {.NH = 3, .NH_kv = 1, .Tq = 33, .Tk = 65, .HS = 9, .causal = false},
           {.Tq = 1, .Tk = 100, .HS = 256},
           {.Tq = 100, .Tk = 1, .HS = 160, .causal = false}})
    check_step(step, bf16_problem(shape));
  for (const int64_t HS : {3, 80, 200, 255}) {
    check_step(step, bf16_problem({.Tq = 0, .Tk = 70, .HS = HS}));
    check_step(step, bf16_problem({.Tq = 70, .Tk = 0, .HS = HS}));
    check_step(step, bf16_problem({.B = 0, .Tq = 3, .Tk = 3, .HS = HS}));
  }
}

// Where 128 rows of large heads do not fit.
TEST_CASE("backward_tensor_cores: every step is right in 99 KB of shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (std::string(step.needs) == "sm_90a") return;
  const SmallSharedMemory small(99 * 1024);
  for (const int64_t HS : {64, 96, 128, 192, 256}) {
    if (HS > 128 && !takes_any_shape(step)) continue;
    REQUIRE(!is_too_large_here(step, {.HS = HS}));
    check_step(step, bf16_problem({.Tq = 70, .Tk = 90, .HS = HS}));
  }
  if (!takes_any_shape(step)) return;
  check_step(step, bf16_problem({.Tq = 40, .Tk = 70, .HS = 256, .causal = false}));
  check_step(step, bf16_problem({.Tq = 70, .Tk = 40, .HS = 200}));
}

TEST_CASE(
    "backward_tensor_cores: steps any_shape and by_shape take any address that a bf16 can have") {
  const auto step = EACH_STEP(steps);
  if (!takes_any_shape(step)) return;
  for (const int64_t HS : {24, 112, 136}) {
    const Problem p = bf16_problem({.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = HS});
    check_step(step, p, {1, 1, 1, 1, 1, 1, 1, 1, 1});
    check_step(step, p, {1, 2, 4, 8, 3, 1, 5, 6, 7});
  }
  check_step(step, bf16_problem({.Tq = 3, .Tk = 3, .HS = 0}), {.q = 1});
  const Problem p = bf16_problem({.NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = 24});
  for (const int64_t by : {1, 2, 4})
    for (int64_t Offsets::*const of : {&Offsets::q, &Offsets::k, &Offsets::v, &Offsets::out,
                                       &Offsets::dout, &Offsets::dq, &Offsets::dk, &Offsets::dv}) {
      Offsets offsets;
      offsets.*of = by;
      check_step(step, p, offsets);
    }
}

TEST_CASE(
    "backward_tensor_cores: every step takes any address of lse, and tensors 16 bytes further") {
  const auto step = EACH_STEP(steps);
  for (const int64_t HS : {int64_t{24}, int64_t{96}})
    check_step(step, bf16_problem({.Tq = 9, .Tk = 33, .HS = HS}),
               {8, 16, 24, 32, 40, 3, 48, 56, 64});
}

// Scores that rise from tile to tile, and weights that underflow: lse has all of it.
TEST_CASE("backward_tensor_cores: every step is right for large scores", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const bool causal : {true, false}) {
    Problem p = bf16_problem({.Tq = 140, .Tk = 140, .HS = 64, .causal = causal});
    for (int64_t j = 0; j < 140; ++j)
      for (int64_t d = 0; d < 64; ++d) p.k[j * 64 + d] *= static_cast<float>(1 << j / 30);
    forward(p);
    check_step(step, p);
  }
}

TEST_CASE("backward_tensor_cores: every step gives the same bits again") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape) {
    const Problem p = bf16_problem(shape);
    if (is_too_large_here(step, p.shape)) return;
    std::vector<float> first;
    for (int run = 0; run < 3; ++run) {
      OnDevice on(p);
      step.launch(p.shape, on.tensors(), workspace_in(on.memory), nullptr);
      std::vector<float> all = widened<bf16>(on.dq.to_host());
      for (const DeviceBuffer<bf16>* of : {&on.dk, &on.dv}) {
        const std::vector<float> more = widened<bf16>(of->to_host());
        all.insert(all.end(), more.begin(), more.end());
      }
      if (run == 0)
        first = all;
      else
        CHECK(all == first);
    }
  };
  check({.NH = 4, .NH_kv = 2, .Tq = 150, .Tk = 200, .HS = 64});
  if (!takes_any_shape(step)) return;
  check({.NH = 2, .Tq = 40, .Tk = 140, .HS = 136});
  check({.NH = 2, .Tq = 40, .Tk = 140, .HS = 50});
}

TEST_CASE("backward_tensor_cores: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape) {
    const Problem p = bf16_problem(shape);
    if (is_too_large_here(step, p.shape)) return;
    OnDevice on(p);
    const int64_t rows = static_cast<int64_t>(p.q.size());
    check_in_two_streams<bf16>(3 * rows, workspace_bytes(p.shape),
                               [&](bf16* all, Workspace workspace, cudaStream_t stream) {
                                 Tensors at = on.tensors();
                                 at.dq = all, at.dk = all + rows, at.dv = all + 2 * rows;
                                 step.launch(p.shape, at, workspace, stream);
                               });
  };
  check({.Tq = 100, .Tk = 100, .HS = 64});
  if (!takes_any_shape(step)) return;
  check({.Tq = 35, .Tk = 35, .HS = 136});
  check({.Tq = 35, .Tk = 35, .HS = 20});
}

TEST_CASE("backward_tensor_cores: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape, const Offsets& by = {}) {
    INFO(step.name << " " << text(shape) << ", q " << by.q << " numbers further");
    if (is_too_large_here(step, shape)) return;
    OnDevice on(bf16_problem(shape), by);
    check_no_conflicts(check_asked_for(step, [&](auto run) {
      return run(shape, on.tensors(), workspace_in(on.memory), nullptr);
    }));
  };
  check({.Tq = 128, .Tk = 128, .HS = 64});
  check({.Tq = 150, .Tk = 290, .HS = 64});
  check({.Tq = 300, .Tk = 140, .HS = 40});
  check({.NH = 4, .NH_kv = 2, .Tq = 70, .Tk = 70, .HS = 128, .causal = false});
  check({.NH = 5, .NH_kv = 1, .Tq = 300, .Tk = 150, .HS = 40});  // several sums
  check({.Tq = 140, .Tk = 600, .HS = 104});
  if (std::string(step.needs) != "sm_90a") {
    const SmallSharedMemory small(99 * 1024);  // smaller tiles, or fewer
    check({.Tq = 100, .Tk = 150, .HS = 128});
    check({.NH = 2, .Tq = 100, .Tk = 150, .HS = 64, .causal = false});
  }
  if (!takes_any_shape(step)) return;
  check({.Tq = 35, .Tk = 140, .HS = 64}, {.q = 1});
  check({.Tq = 140, .Tk = 70, .HS = 100});
  check({.Tq = 140, .Tk = 150, .HS = 72});
  check({.NH = 2, .Tq = 40, .Tk = 70, .HS = 250, .causal = false});
  // The large blocks, of 128 rows, and where they do not fit those of 64.
  for (const int64_t HS : {136, 192, 200, 256}) {
    const int64_t needed = 4 * (HS <= 192 ? 192 : 256) * (128 + 2 * 32) + 2 * 2 * 32 * 4;
    const int64_t most = shared_memory_limit();
    for (const int64_t bytes : {needed, needed - 1}) {
      if (bytes > most) continue;
      const SmallSharedMemory limit(bytes);
      check({.Tq = 40, .Tk = 150, .HS = HS});
      const FewMultiprocessors few(1);
      check({.Tq = 40, .Tk = 150, .HS = HS});
      if (HS == 136) check({.Tq = 140, .Tk = 40, .HS = HS, .causal = false});
    }
  }
}

TEST_CASE("backward_tensor_cores: what no step takes is refused in a sentence") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape, Tensors at) {
    step.launch(shape, at, {}, nullptr);
  };
  CHECK_THROWS_WITH(launch({.HS = 257}, {}), ContainsSubstring("head size 257 is too large for"));
  CHECK_THROWS_WITH(launch({.HS = 264}, {}), ContainsSubstring("06/backward --kernel unfused"));
  CHECK_THROWS_WITH(launch({.HS = 16}, {}), ContainsSubstring("needs a workspace of"));
  Tensors odd = {};
  odd.dk = reinterpret_cast<bf16*>(uintptr_t{8});
  if (takes_any_shape(step)) {
    CHECK_THROWS_WITH(launch({.HS = 256}, odd), ContainsSubstring("needs a workspace of"));
    CHECK_THROWS_WITH(launch({.HS = 72}, {}), ContainsSubstring(" needs a workspace of"));
    return;
  }
  const auto hands_on = [&](const Attention& shape, const Tensors& at, const char* why) {
    CHECK_THROWS_WITH(launch(shape, at),
                      ContainsSubstring(why) && ContainsSubstring("take --kernel any_shape."));
  };
  hands_on({.HS = 12}, {}, "multiple of 8");
  hands_on({.HS = 136}, {}, "too large");
  hands_on({.HS = 16}, odd, "multiple of 16 bytes");
}

}  // namespace
}  // namespace tutorial::flash_attention::backward_tensor_cores
