// What a step asks global memory for, beside what it says: for the tests of the road and of the
// parts faster and any_shape.
#pragma once

#include <type_traits>

#include "common/testing/asked_for.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

template <class Launcher>
Counts check_step_asks(const Step<Launcher>& step, const Attention& shape) {
  if (is_too_large_here(step, shape)) return {};
  CAPTURE(step.name, text(shape));
  const Problem p = normal_problem(shape);
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
  DeviceBuffer<float> scratch(scratch_size(shape));
  // Of a query that sees no key kv_outer's O stays 0: a compiler need not read it.
  int64_t unread = 0;
  if (step.name == "kv_outer")
    for (int64_t i = 0; i < shape.Tq && shape.visible_keys(i) <= 0; ++i)
      unread += shape.B * shape.NH * shape.HS * int64_t{sizeof(float)};
  return check_asked_for(step,
                         [&](auto run) {
                           if constexpr (std::is_same_v<Launcher, flash_attention::Launcher>)
                             return run(shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                        scratch.data());
                           else
                             return run(shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                        workspace_in(scratch), nullptr);
                         },
                         {.less = unread, .more = unread});
}

/// On shapes for several tiles, and for one; some steps promise that there are no bank conflicts.
template <class Launcher>
void check_step_asks(const Step<Launcher>& step, bool without_conflicts = false) {
  for (Attention a : std::vector<Attention>{
           {.Tq = 128, .Tk = 64, .HS = 64, .causal = false},  // whole tiles of 32, 64 and 128,
           {.Tq = 129, .Tk = 119, .HS = 20},                  // and one query more
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 33, .causal = false},
           {.NH = 2, .Tq = 35, .Tk = 70, .HS = 32},
           {.Tq = 20, .Tk = 140, .HS = 100}}) {
    a.HS = own_head_size(step, a.HS);
    if (a.HS > largest_head_size(step)) continue;
    const Counts counts = check_step_asks(step, a);
    if (without_conflicts) check_no_conflicts(counts);
  }
}

}  // namespace tutorial::flash_attention
