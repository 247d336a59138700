// One way to check a step whose tensors have strides, for this part and hopper.
#pragma once

#include <cmath>

#include "common/kernel/check.hpp"
#include "tensor_cores/in_layout.hpp"
#include "tensor_cores/tests/problems.hpp"
#include "tests/padded.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// In global memory, and NaN where the tensor has no number. Where rows have one place together,
/// `dense` becomes what stands there.
inline DeviceBuffer<bf16> placed(std::vector<float>& dense, const Placed& as, int64_t offset) {
  std::vector<bf16> all(as.span(), bf16(std::nanf("")));
  place(dense, as, all);
  dense = dense_of(widened<bf16>(all), as);
  return DeviceBuffer<bf16>(all, offset);
}

/// Checks out and lse of a launch whose tensors lie as problem.shape.strides say: launch(shape, q,
/// k, v, out, lse). What lies between the rows of out must stay.
inline void check_placed(const char* step, const Problem& unrounded, const Offsets& offsets,
                         const std::function<void(const Attention&, const bf16*, const bf16*,
                                                  const bf16*, bf16*, float*)>& launch) {
  Problem problem = in_bf16(unrounded);
  const Attention& shape = problem.shape;
  const auto& [of_q, of_k, of_v, of_out] = shape.strides;
  INFO(step << " " << text(shape));
  for (const Strides& of : {of_q, of_k, of_v, of_out})
    UNSCOPED_INFO("batch " << of.batch << ", head " << of.head << ", token " << of.token);
  const DeviceBuffer<bf16> q = placed(problem.q, placed_q(shape), offsets.q),
                           k = placed(problem.k, placed_k(shape), offsets.k),
                           v = placed(problem.v, placed_v(shape), offsets.v);
  const Placed as = placed_out(shape);
  DeviceBuffer<bf16> out(as.span(), offsets.out);
  DeviceBuffer<float> lse(shape.rows(), offsets.lse);
  const DeviceLengths lengths(shape);
  launch(lengths.of(shape), q.data(), k.data(), v.data(), out.data(), lse.data());
  CUDA_CHECK_LAUNCH();
  std::vector<bf16> all = out.to_host();
  const std::vector<float> got = dense_of(widened<bf16>(all), as);
  const Reference want = reference_of(problem);
  const Comparison result =
      compare(got, want.out,
              {.name = "out", .batch = shape.B * shape.NH, .rows = shape.Tq, .cols = shape.HS});
  if (!result.ok) FAIL_CHECK(result.report);
  const Comparison sums = compare(lse.to_host(), want.lse,
                                  {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  if (!sums.ok) FAIL_CHECK(sums.report);
  place(std::vector<float>(got.size(), std::nanf("")), as, all);
  for (const bf16 number : all)
    if (!std::isnan(static_cast<float>(number))) {
      FAIL_CHECK("the kernel wrote between the rows of out");
      break;
    }
  if (!out.guards_intact() || !lse.guards_intact())
    FAIL_CHECK("the kernel wrote outside of out, or of lse");
}

/// Calls check for problems in the layouts that people have, and in others.
inline void for_layouts(const std::function<void(const Problem&, const Offsets&)>& check) {
  const Attention grouped = {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 37, .Tk = 70, .HS = 24};
  Attention square = {.B = 2, .NH = 3, .NH_kv = 1, .Tq = 140, .Tk = 140, .HS = 64};
  const auto try_one = [&](Attention shape, const TensorStrides& strides, Offsets offsets = {}) {
    shape.strides = strides;
    check(normal_problem(shape), offsets);
  };
  for (const char* layout : {"bthd", "qkv"}) check(normal_problem(in_layout(square, layout)), {});
  check(normal_problem(in_layout(grouped, "bthd")), {});
  square.HS = 136, square.Tq = square.Tk = 20;
  check(normal_problem(in_layout(square, "qkv")), {});
  // Each tensor apart in its own way, and only one of them.
  const Strides q = {.batch = 8000, .head = 32, .token = 208},
                k = {.batch = 40, .head = 88, .token = 176},
                v = {.batch = 8000, .head = 1800, .token = 24},
                out = {.batch = 7000, .head = 1728, .token = 32};
  try_one(grouped, {q, k, v, out});
  try_one(grouped, {.q = q});
  try_one(grouped, {.k = k});
  try_one(grouped, {.v = v});
  try_one(grouped, {.out = out});
  // All heads, or all sequences, look at the same keys.
  try_one(grouped, {.k = {.batch = 1680, .head = 0, .token = 24}, .v = {0, 1680, 24}});
  // Of one sequence, one head or one token nothing is further apart.
  try_one({.NH = 2, .Tq = 9, .Tk = 33, .HS = 24},
          {.k = {3, 5, 24}, .out = {.batch = 1, .head = 216, .token = 24}});
  try_one({.B = 2, .Tq = 1, .Tk = 1, .HS = 8}, {{8, 1, 1}, {8, 1, 1}, {8, 1, 1}, {8, 1, 1}});
  // No multiples of 16 bytes.
  const Strides odd = {.batch = 4001, .head = 970, .token = 25};
  const Attention small = {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 35, .Tk = 38, .HS = 24};
  try_one(small, {.q = odd});
  try_one(small, {.k = {.batch = 4001, .head = 1000, .token = 24}});
  try_one(small, {.v = {.batch = 4000, .head = 1001, .token = 24}});
  try_one(small, {.k = {.batch = 4000, .head = 1000, .token = 25}});
  try_one(small, {.out = odd});
  try_one(small, {.k = k}, {.q = 1});
}

}  // namespace tutorial::flash_attention::tensor_cores
