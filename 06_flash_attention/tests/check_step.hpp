// One way to check a step: for the tests of the road and of the parts faster and any_shape.
#pragma once

#include <functional>

#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention {

// ---- what each of them says of its own steps (tests/limits.cpp)

/// The largest head size that the step takes on every device: its tiles have no more columns.
/// INT64_MAX: it has no such limit, as kv_outer and q_outer.
int64_t largest_head_size(const Step<Launcher>& step);
/// A head size like this one for which the step has a kernel of its own: large_heads has none up to
/// 128.
int64_t own_head_size(const Step<Launcher>& step, int64_t HS);
/// How many floats `scratch` has.
int64_t scratch_size(const Attention& shape);

// ---- and what follows

/// How far the tensors begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, lse = 0, scratch = 0;
};

/// Does the step need more shared memory for this head size than the device has?
inline bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(
      step.name, [&] { step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); });
}

/// Checks out and lse, where the device is large enough for the step, and the step does not hand
/// the head size on to the one before it.
inline void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {}) {
  const Attention& shape = problem.shape;
  if (shape.HS > largest_head_size(step) || is_too_large_here(step, shape)) return;
  if (shape.rows() > 0 && shape.HS != own_head_size(step, shape.HS)) return;
  const auto& [of_q, of_k, of_v, of_out, of_lse, of_scratch] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse << ", scratch " << of_scratch);
  const DeviceBuffer<float> q(problem.q, of_q), k(problem.k, of_k), v(problem.v, of_v);
  DeviceBuffer<float> lse(shape.rows(), of_lse), scratch(scratch_size(shape), of_scratch);
  const Reference want = reference(problem);
  check_launch(
      [&](float* out) {
        step.launch(shape, q.data(), k.data(), v.data(), out, lse.data(), scratch.data());
      },
      want.out,
      {.name = "out",
       .batch = shape.B * shape.NH,
       .rows = shape.Tq,
       .cols = shape.HS,
       .tile = step.tile},
      of_out);
  const Comparison sums = compare(lse.to_host(), want.lse,
                                  {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  if (!sums.ok) FAIL_CHECK(sums.report);
  if (!lse.guards_intact()) FAIL_CHECK("the kernel wrote outside of lse");
  if (!scratch.guards_intact()) FAIL_CHECK("the kernel wrote outside of scratch");
}

/// With the causal mask and without.
inline void check_both(const Step<Launcher>& step, Attention shape,
                       const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention
