// What the tests of this part share: problems whose numbers bf16 has, and one way to check a step.
#pragma once

#include "backward/precision.hpp"
#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/data/narrow.hpp"
#include "common/testing/testing.hpp"
#include "tensor_cores/tensor_cores.hpp"
#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

/// q, k, v and dout, and what a forward pass gives for them.
struct Problem {
  Attention shape;
  std::vector<float> q, k, v, dout, out, lse;
};

inline std::vector<float> bf16_values(std::vector<int64_t> shape, uint64_t seed) {
  return rounded_to<bf16>(make_values(shape, Init::normal, seed));
}

/// out and lse of the others, as the forward pass leaves them.
inline void forward(Problem& p) {
  const flash_attention::Reference want =
      tensor_cores::reference_bf16(p.shape, p.q, p.k, p.v, all_rows(p.shape.rows()));
  p.out = rounded_to<bf16>(std::vector<float>(want.out.value.begin(), want.out.value.end()));
  p.lse.assign(want.lse.value.begin(), want.lse.value.end());
}

inline Problem bf16_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  Problem p = {shape,
               bf16_values({B, NH, Tq, HS}, 1),
               bf16_values({B, NH_kv, Tk, HS}, 2),
               bf16_values({B, NH_kv, Tk, HS}, 3),
               bf16_values({B, NH, Tq, HS}, 4),
               {},
               {}};
  forward(p);
  return p;
}

/// How far the tensors begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, dout = 0, lse = 0, dq = 0, dk = 0, dv = 0;
};

/// A step's tensors and its workspace in global memory; the outputs and the workspace are NaN.
struct OnDevice {
  explicit OnDevice(const Problem& p, const Offsets& by = {})
      : q(narrowed<bf16>(p.q), by.q),
        k(narrowed<bf16>(p.k), by.k),
        v(narrowed<bf16>(p.v), by.v),
        out(narrowed<bf16>(p.out), by.out),
        dout(narrowed<bf16>(p.dout), by.dout),
        lse(p.lse, by.lse),
        dq(static_cast<int64_t>(p.q.size()), by.dq),
        dk(static_cast<int64_t>(p.k.size()), by.dk),
        dv(static_cast<int64_t>(p.v.size()), by.dv),
        memory(workspace_bytes(p.shape)) {}
  Tensors tensors() {
    return {q.data(),   k.data(),  v.data(),  out.data(), dout.data(),
            lse.data(), dq.data(), dk.data(), dv.data()};
  }
  DeviceBuffer<bf16> q, k, v, out, dout;
  DeviceBuffer<float> lse;
  DeviceBuffer<bf16> dq, dk, dv;
  DeviceBuffer<std::byte> memory;
};

/// Does the step need more shared memory for this head size than the device has?
inline bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(step.name, [&] { step.launch(shape, {}, {}, nullptr); });
}

/// Checks dq, dk and dv.
inline void check_step(const Step<Launcher>& step, const Problem& p, const Offsets& by = {}) {
  if (!is_in_sample(step.name) || is_too_large_here(step, p.shape)) return;
  const Attention& s = p.shape;
  INFO(step.name << " " << text(s) << " offsets q " << by.q << ", k " << by.k << ", v " << by.v
                 << ", out " << by.out << ", dout " << by.dout << ", lse " << by.lse << ", dq "
                 << by.dq << ", dk " << by.dk << ", dv " << by.dv);
  OnDevice on(p, by);
  const backward::Reference want = backward::reference(
      s, {p.q, p.k, p.v, p.out, p.dout, p.lse}, all_rows(backward::query_rows(s)),
      all_rows(backward::key_rows(s)), backward::Precision::bf16);
  step.launch(s, on.tensors(), workspace_in(on.memory), nullptr);
  CUDA_CHECK_LAUNCH();
  const auto check = [&](const char* name, const DeviceBuffer<bf16>& got, const Expected& expected,
                         int64_t heads, int64_t rows) {
    const Comparison comparison =
        compare(widened<bf16>(got.to_host()), expected,
                {.name = name, .batch = heads, .rows = rows, .cols = s.HS});
    if (comparison.ok)
      SUCCEED();
    else
      FAIL_CHECK(comparison.report);
    if (!got.guards_intact()) FAIL_CHECK("the kernel wrote outside of " << name);
  };
  check("dq", on.dq, want.dq, s.B * s.NH, s.Tq);
  check("dk", on.dk, want.dk, s.B * s.NH_kv, s.Tk);
  check("dv", on.dv, want.dv, s.B * s.NH_kv, s.Tk);
  if (!on.memory.guards_intact()) FAIL_CHECK("the kernel wrote outside of the workspace");
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
