// Every step, on shapes that its likely mistakes do not survive.
#include "common/backend/backend.hpp"
#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

TEST_CASE("fp8 attention: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 16},
      {.Tq = 5, .Tk = 3, .HS = 16},      // less than a tile; queries without keys
      {.Tq = 128, .Tk = 128, .HS = 64},  // whole tiles
      {.Tq = 140, .Tk = 400, .HS = 48},  // tails everywhere, 4 tiles of keys
      {.Tq = 270, .Tk = 140, .HS = 16},  // tiles of queries without keys, with some
      {.Tq = 1, .Tk = 1100, .HS = 32},   // one query, as in decoding; the ring goes round
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 32},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 140, .HS = 112},
      {.Tq = 65, .Tk = 257, .HS = 128, .causal = false},
      {.Tq = 130, .Tk = 450, .HS = 96},
      {.NH = 3, .NH_kv = 3, .Tq = 200, .Tk = 200, .HS = 64},
  };
  for (const Attention& shape : shapes)
    check_step(step, with_positive_values(normal_problem(shape)));
}

TEST_CASE("fp8 attention: every step is right for every head size", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (int64_t HS = 16; HS <= 128; HS += 16)
    check_step(step, with_positive_values(
                         normal_problem({.Tq = 150, .Tk = 130, .HS = HS, .causal = HS % 32 == 0})));
}

// Blocks that stay take further tiles.
TEST_CASE("fp8 attention: every step has more tiles than the device has SMs") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(6);
  check_step(step, normal_problem({.B = 2, .NH = 4, .NH_kv = 2, .Tq = 130, .Tk = 140, .HS = 16}));
  check_step(step, normal_problem({.NH = 7, .NH_kv = 7, .Tq = 40, .Tk = 330, .HS = 80}));
  // Most tiles have no keys: nothing but the queries' own barriers holds their loads back.
  check_step(step, normal_problem({.NH = 7, .Tq = 400, .Tk = 70, .HS = 16}));
}

// In a shuffled order the simulator lets one warp of each block come late; a GPU does as it likes.
TEST_CASE("fp8 attention: in every step a warp may come late") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(6);
  set_thread_order(1);
  check_step(step, normal_problem({.NH = 7, .Tq = 300, .Tk = 70, .HS = 16}));
  check_step(step, normal_problem({.NH = 7, .Tq = 20, .Tk = 600, .HS = 80, .causal = false}));
  set_thread_order(0);
}

TEST_CASE("fp8 attention: every step takes any address of lse, and tensors 16 bytes further") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 9, .Tk = 33, .HS = 32}),
             {.q = 16, .k = 32, .v = 48, .out = 40, .lse = 3});
}

TEST_CASE("fp8 attention: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  for (const int64_t HS : {64, 80}) {
    const Attention shape = {.NH = 3, .Tq = 150, .Tk = 140, .HS = HS};
    CAPTURE(step.name, text(shape));
    if (!is_in_sample(step.name) || is_handed_on(step, shape)) continue;
    const Problem p = normal_problem(shape);
    const Operands in(shape, p.q, p.k, p.v);
    const int64_t size = shape.rows() * HS;  // in bytes a multiple of 16
    check_in_two_streams<bf16>(
        size + 2 * shape.rows(), workspace_bytes(shape),
        [&](bf16* out, Workspace workspace, cudaStream_t stream) {
          step.launch(shape, in.q.values.data(), in.k.values.data(), in.v.values.data(),
                      in.on_device(), out, reinterpret_cast<float*>(out + size), workspace, stream);
        });
  }
}

TEST_CASE("fp8 attention: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0, .HS = 16}));
  check_step(step, normal_problem({.NH = 0, .HS = 16}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0, .HS = 16}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 16}));
  for (const int64_t HS : {16, 80})
    check_step(step, normal_problem({.Tq = 200, .Tk = 0, .HS = HS}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  step.launch({.Tq = 5, .Tk = 5, .HS = 0}, nullptr, nullptr, nullptr, {}, nullptr, nullptr, {},
              nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
