// What the tests of the backward pass share: problems, and one way to check a step.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backward/backward.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::backward {

/// q, k, v and dout, and what a forward pass gives for them.
struct Problem {
  Attention shape;
  std::vector<float> q, k, v, dout, out, lse;
  HostTensors host() const { return {q, k, v, out, dout, lse}; }
};

Problem normal_problem(const Attention& shape);
/// Adds about add(j) to the score of key j, for all queries.
Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add);

/// All rows.
Reference reference(const Problem& problem);

/// "B=1 NH=2 …", for messages.
std::string text(const Attention& shape);

/// Does the step need more shared memory for this head size than the device has?
bool is_too_large_here(const Step<Launcher>& step, Attention shape);

/// How far each tensor of Tensors begins, in floats, from an address that is a multiple of 256
/// bytes.
using Offsets = std::vector<int64_t>;
inline const Offsets no_offsets(9);

/// A step's tensors and its workspace in global memory; the outputs and the workspace are NaN.
struct OnDevice {
  OnDevice(const Step<Launcher>& step, const Problem& problem, const Offsets& offset = no_offsets)
      : q(problem.q, offset[0]),
        k(problem.k, offset[1]),
        v(problem.v, offset[2]),
        out(problem.out, offset[3]),
        dout(problem.dout, offset[4]),
        lse(problem.lse, offset[5]),
        dq(static_cast<int64_t>(problem.q.size()), offset[6]),
        dk(static_cast<int64_t>(problem.k.size()), offset[7]),
        dv(static_cast<int64_t>(problem.v.size()), offset[8]),
        memory(workspace_bytes(problem.shape, step.launch)),
        shape(problem.shape),
        step(step.launch) {}
  Tensors tensors() {
    return {q.data(),   k.data(),  v.data(),  out.data(), dout.data(),
            lse.data(), dq.data(), dk.data(), dv.data()};
  }
  void launch() { step(shape, tensors(), workspace_in(memory), nullptr); }
  DeviceBuffer<float> q, k, v, out, dout, lse, dq, dk, dv;
  DeviceBuffer<std::byte> memory;
  Attention shape;
  Launcher* step;
};

/// Checks dq, dk and dv, where the device is large enough for the step.
void check_step(const Step<Launcher>& step, const Problem& problem,
                const Offsets& offset = no_offsets);

}  // namespace tutorial::flash_attention::backward
