// Every step on shapes that likely mistakes do not survive.
#include <cmath>

#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/two_streams.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

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
  const Problem p = bf16_problem({.NH = 4, .NH_kv = 2, .Tq = 150, .Tk = 200, .HS = 64});
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
}

TEST_CASE("backward_tensor_cores: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const Problem p = bf16_problem({.Tq = 100, .Tk = 100, .HS = 64});
  if (is_too_large_here(step, p.shape)) return;
  OnDevice on(p);
  const int64_t rows = static_cast<int64_t>(p.q.size());
  check_in_two_streams<bf16>(3 * rows, workspace_bytes(p.shape),
                             [&](bf16* all, Workspace workspace, cudaStream_t stream) {
                               Tensors at = on.tensors();
                               at.dq = all, at.dk = all + rows, at.dv = all + 2 * rows;
                               step.launch(p.shape, at, workspace, stream);
                             });
}

TEST_CASE("backward_tensor_cores: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 64},
           {.Tq = 150, .Tk = 290, .HS = 64},
           {.Tq = 300, .Tk = 140, .HS = 40},
           {.NH = 4, .NH_kv = 2, .Tq = 70, .Tk = 70, .HS = 128, .causal = false}}) {
    INFO(step.name << " " << text(shape));
    if (is_too_large_here(step, shape)) continue;
    OnDevice on(bf16_problem(shape));
    check_no_conflicts(check_asked_for(step, [&](auto run) {
      return run(shape, on.tensors(), workspace_in(on.memory), nullptr);
    }));
  }
}

TEST_CASE("backward_tensor_cores: what no step takes is refused in a sentence") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape, Tensors at) {
    step.launch(shape, at, {}, nullptr);
  };
  CHECK_THROWS_WITH(launch({.HS = 12}, {}), ContainsSubstring("multiple of 8"));
  CHECK_THROWS_WITH(launch({.HS = 136}, {}), ContainsSubstring("too large"));
  CHECK_THROWS_WITH(launch({.HS = 264}, {}), ContainsSubstring("06/backward --kernel unfused"));
  Tensors odd = {};
  odd.dk = reinterpret_cast<bf16*>(uintptr_t{8});
  CHECK_THROWS_WITH(launch({.HS = 16}, odd), ContainsSubstring("multiple of 16 bytes"));
  CHECK_THROWS_WITH(launch({.HS = 16}, {}), ContainsSubstring("needs a workspace of"));
}

}  // namespace
}  // namespace tutorial::flash_attention::backward_tensor_cores
