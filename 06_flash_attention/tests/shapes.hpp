// Every step, on shapes and addresses that its likely mistakes do not survive.
#pragma once

#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

template <class Launcher>
void check_every_shape(const Step<Launcher>& step) {
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 1},
      {.Tq = 5, .Tk = 3, .HS = 5},       // less than a tile; queries without keys
      {.Tq = 64, .Tk = 64, .HS = 64},    // whole tiles
      {.Tq = 32, .Tk = 97, .HS = 40},    // one key more than 3 tiles of 32
      {.Tq = 130, .Tk = 200, .HS = 33},  // tails everywhere, 4 tiles of keys
      // Several tiles of queries in each of two heads; the edge lies inside one of them.
      {.NH = 2, .NH_kv = 1, .Tq = 190, .Tk = 90, .HS = 8},
      {.Tq = 1, .Tk = 150, .HS = 128},  // one query, as in decoding
      {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 37, .Tk = 70, .HS = 24},
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 20},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 40, .HS = 128},
      {.Tq = 37, .Tk = 70, .HS = 72},
      {.Tq = 140, .Tk = 280, .HS = 100},  // more keys than two tiles of 128,
      {.Tq = 70, .Tk = 150, .HS = 101},   // and rows that do not begin at multiples of 16 bytes
      // Without the causal mask only the last tile of keys is special.
      {.Tq = 5, .Tk = 3, .HS = 5, .causal = false},
      {.Tq = 32, .Tk = 97, .HS = 40, .causal = false},
      {.Tq = 130, .Tk = 200, .HS = 33, .causal = false},
      {.Tq = 1, .Tk = 150, .HS = 128, .causal = false},
      {.Tq = 70, .Tk = 150, .HS = 101, .causal = false},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

template <class Launcher>
void check_any_address(const Step<Launcher>& step) {
  // Rows that would allow 16-byte accesses.
  const Problem small = normal_problem({.Tq = 5, .Tk = 9, .HS = own_head_size(step, 32)});
  const Problem problem = normal_problem(
      {.B = 1, .NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = own_head_size(step, 64)});
  for (int64_t offset : {1, 2, 3}) {
    check_step(step, small, {.q = offset});
    check_step(step, small, {.k = offset});
    check_step(step, small, {.v = offset});
    check_step(step, small, {.out = offset});
    check_step(step, small, {.lse = offset, .scratch = 4 - offset});
    check_step(step, problem, {offset, offset, offset, offset, offset, offset});
  }
}

template <class Launcher>
void check_many_heads(const Step<Launcher>& step) {
  if (!device_has_clock()) SKIP("65538 blocks take the simulator minutes");
  check_step(step, normal_problem({.B = 2, .NH = 32769, .NH_kv = 3, .Tq = 1, .Tk = 1, .HS = 1}));
}

/// 18 GB, so it must be asked for by its tag. All queries but those of the last two heads are 0.
template <class Launcher>
void check_many_elements(const Step<Launcher>& step) {
  const Attention last = {.NH = 2, .NH_kv = 1, .Tq = 3, .Tk = 40, .HS = 128};
  if (is_too_large_here(step, last)) return;
  Attention shape = last;
  shape.NH = 5592410;  // so many heads of 3·128 elements
  const Problem problem = normal_problem(last);
  const int64_t size = shape.rows() * shape.HS, tail = last.rows() * last.HS;
  const DeviceBuffer<float> k(problem.k), v(problem.v);
  DeviceBuffer<float> q(size), out(size), lse(shape.rows()), scratch(scratch_size(shape));
  CUDA_CHECK(cudaMemset(q.data(), 0, size * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(q.data() + size - tail, problem.q.data(), tail * sizeof(float),
                        cudaMemcpyHostToDevice));
  launch_step(step, shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
              workspace_in(scratch));
  CUDA_CHECK_LAUNCH();
  std::vector<float> got(tail);
  CUDA_CHECK(cudaMemcpy(got.data(), out.data() + size - tail, tail * sizeof(float),
                        cudaMemcpyDeviceToHost));
  const Comparison comparison =
      compare(got, reference(problem).out,
              {.name = "out", .batch = last.NH, .rows = last.Tq, .cols = last.HS});
  INFO(step.name << ", the last two heads:\n" << comparison.report);
  CHECK(comparison.ok);
  CHECK(out.guards_intact());
}

template <class Launcher>
void check_nothing_to_do(const Step<Launcher>& step) {
  check_step(step, normal_problem({.B = 0}));
  check_step(step, normal_problem({.NH = 0}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 4}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 4}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  const Attention no_columns = {.Tq = 5, .Tk = 5, .HS = 0};
  if (is_too_large_here(step, no_columns)) return;
  launch_step(step, no_columns);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace tutorial::flash_attention
