// What the tests of this part share: problems in bf16, and one way to check a step.
#pragma once

#include <type_traits>

#include "common/data/narrow.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/two_streams.hpp"
#include "tensor_cores/tensor_cores.hpp"
#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// The same with q, k and v rounded to T: bf16, or __half for part fp16.
template <class T>
Problem in_type(Problem problem) {
  for (std::vector<float>* values : {&problem.q, &problem.k, &problem.v})
    *values = rounded_to<T>(*values);
  return problem;
}
inline Problem in_bf16(const Problem& problem) {
  return in_type<bf16>(problem);
}

/// All rows.
template <class T = bf16>
Reference reference_of(const Problem& problem) {
  return (std::is_same_v<T, bf16> ? reference_bf16 : reference_fp16)(
      problem.shape, problem.q, problem.k, problem.v, all_rows(problem.shape.rows()));
}

/// How far the tensors begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, lse = 0;
};

/// Rounds the problem and checks out and lse of a step of this part or of one that goes on from it.
/// launch(shape, q, k, v, out, lse, workspace, stream) is the step's.
template <class T = bf16, class AnyLauncher, class Launch>
void check_problem(const Step<AnyLauncher>& step, const Problem& unrounded, const Offsets& offsets,
                   int64_t workspace_bytes, const Launch& launch) {
  const Attention& shape = unrounded.shape;
  const auto& [of_q, of_k, of_v, of_out, of_lse] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse);
  const Problem problem = in_type<T>(unrounded);
  const DeviceBuffer<T> q(narrowed<T>(problem.q), of_q), k(narrowed<T>(problem.k), of_k),
      v(narrowed<T>(problem.v), of_v);
  DeviceBuffer<float> lse(shape.rows(), of_lse);
  DeviceBuffer<std::byte> memory(workspace_bytes);
  const Reference want = reference_of<T>(problem);
  check_launch(
      [&](T* out) {
        memory.poison();
        launch(shape, q.data(), k.data(), v.data(), out, lse.data(), workspace_in(memory),
               cudaStream_t{});
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
  if (!memory.guards_intact()) FAIL_CHECK("the kernel wrote outside of the workspace");
}

/// Compares what a step with a workspace says that it asks global memory for with what it does; q
/// begins `of_q` elements past an aligned address.
template <class AnyLauncher>
Counts check_problem_asks(const Step<AnyLauncher>& step, const Attention& shape,
                          int64_t workspace_bytes, int64_t of_q = 0) {
  CAPTURE(step.name, text(shape), of_q);
  const Problem p = normal_problem(shape);
  const DeviceBuffer<bf16> q(narrowed<bf16>(p.q), of_q), k(narrowed<bf16>(p.k)),
      v(narrowed<bf16>(p.v));
  DeviceBuffer<bf16> out(shape.rows() * shape.HS);
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(workspace_bytes);
  return check_asked_for(step, [&](auto run) {
    return run(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
               nullptr);
  });
}

/// Does the step need more shared memory for this head size than the device has?
bool is_too_large_here(const Step<Launcher>& step, Attention shape);

/// Rounds the problem and checks out and lse, where the step takes the head size and the device is
/// large enough. any_address gets tensors that it does not give to head_sizes.
void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {});
/// With the causal mask and without.
void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make);

/// The launches of a step in two streams: out, and lse behind it. q begins `of_q` elements further.
/// launch(shape, q, k, v, out, lse, workspace, stream) is the step's.
template <class T = bf16, class Launch>
void check_problem_in_two_streams(const Problem& problem, int64_t of_q, int64_t workspace_bytes,
                                  const Launch& launch) {
  const Attention& shape = problem.shape;
  const DeviceBuffer<T> q(narrowed<T>(problem.q), of_q), k(narrowed<T>(problem.k)),
      v(narrowed<T>(problem.v));
  const int64_t size = shape.rows() * shape.HS;  // in bytes a multiple of 16
  check_in_two_streams<T>(size + 2 * shape.rows(), workspace_bytes,
                          [&](T* out, Workspace workspace, cudaStream_t stream) {
                            float* const lse = reinterpret_cast<float*>(out + size);
                            launch(shape, q.data(), k.data(), v.data(), out, lse, workspace,
                                   stream);
                          });
}

}  // namespace tutorial::flash_attention::tensor_cores
