// One way to check a step: for the tests of the road and of the parts faster and any_shape.
#pragma once

#include <functional>
#include <type_traits>

#include "common/kernel/workspace.hpp"
#include "tests/attention_problems.hpp"
#include "tests/padded.hpp"

namespace tutorial::flash_attention {

/// The launcher of part any_shape, whose steps not all of these tests are linked with.
using StreamLauncher = void(const Attention& shape, const float* q, const float* k, const float* v,
                            float* out, float* lse, Workspace workspace, cudaStream_t stream);

// ---- what each of them says of its own steps (tests/limits.cpp)

/// The largest head size that the step takes on every device: its tiles have no more columns.
/// INT64_MAX: it has no such limit, as kv_outer and q_outer.
int64_t largest_head_size(const Step<Launcher>& step);
int64_t largest_head_size(const Step<StreamLauncher>& step);
/// A head size like this one for which the step has a kernel of its own: large_heads has none up to
/// 128.
int64_t own_head_size(const Step<Launcher>& step, int64_t HS);
int64_t own_head_size(const Step<StreamLauncher>& step, int64_t HS);
/// How many floats `scratch` has, or the workspace.
int64_t scratch_size(const Attention& shape);

// ---- and what follows

/// Launches a step in the default stream, with scratch, or with a workspace.
inline void launch_step(const Step<Launcher>& step, const Attention& shape, const float* q,
                        const float* k, const float* v, float* out, float* lse, Workspace scratch) {
  step.launch(shape, q, k, v, out, lse, static_cast<float*>(scratch.memory));
}
inline void launch_step(const Step<StreamLauncher>& step, const Attention& shape, const float* q,
                        const float* k, const float* v, float* out, float* lse,
                        Workspace workspace) {
  step.launch(shape, q, k, v, out, lse, workspace, nullptr);
}
/// Without tensors: for what a step says before it launches.
template <class Launcher>
void launch_step(const Step<Launcher>& step, const Attention& shape) {
  launch_step(step, shape, nullptr, nullptr, nullptr, nullptr, nullptr, {});
}

/// How far the tensors begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, lse = 0, scratch = 0;
};

/// Does the step need more shared memory for this head size than the device has?
template <class Launcher>
bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(step.name, [&] { launch_step(step, shape); });
}

/// Checks out and lse, where the device is large enough for the step, and the step does not hand
/// the head size on to the one before it.
template <class Launcher>
void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const Attention& shape = problem.shape;
  if (shape.HS > largest_head_size(step) || is_too_large_here(step, shape)) return;
  if (shape.rows() > 0 && shape.HS != own_head_size(step, shape.HS)) return;
  const auto& [of_q, of_k, of_v, of_out, of_lse, of_scratch] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse << ", scratch " << of_scratch);
  const DeviceBuffer<float> q(problem.q, of_q), k(problem.k, of_k), v(problem.v, of_v);
  // A workspace does not begin anywhere.
  constexpr bool HAS_SCRATCH = std::is_same_v<Launcher, flash_attention::Launcher>;
  DeviceBuffer<float> lse(shape.rows(), of_lse),
      scratch(scratch_size(shape), HAS_SCRATCH ? of_scratch : 0);
  const Reference want = reference(problem);
  const DeviceLengths lengths(shape);
  check_launch(
      [&](float* out) {
        launch_step(step, lengths.of(shape), q.data(), k.data(), v.data(), out, lse.data(),
                    workspace_in(scratch));
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
template <class Launcher>
void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention
