#include "problems.hpp"

#include <cmath>

namespace tutorial::flash_attention::backward {
namespace {

void forward(Problem& problem) {
  const flash_attention::Reference want = flash_attention::reference(
      problem.shape, problem.q, problem.k, problem.v, all_rows(problem.shape.rows()));
  problem.out.assign(want.out.value.begin(), want.out.value.end());
  problem.lse.assign(want.lse.value.begin(), want.lse.value.end());
}

}  // namespace

Problem normal_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  Problem problem = {.shape = shape,
                     .q = make_values({B, NH, Tq, HS}, Init::normal, 1),
                     .k = make_values({B, NH_kv, Tk, HS}, Init::normal, 2),
                     .v = make_values({B, NH_kv, Tk, HS}, Init::normal, 3),
                     .dout = make_values({B, NH, Tq, HS}, Init::normal, 4),
                     .out = {},
                     .lse = {}};
  forward(problem);
  return problem;
}

Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add) {
  Problem problem = normal_problem(shape);
  const auto HS = static_cast<size_t>(shape.HS);
  for (size_t i = 0; i < problem.q.size(); i += HS) problem.q[i] = 1;
  for (size_t j = 0; j < problem.k.size(); j += HS)
    problem.k[j] = std::sqrt(static_cast<float>(HS)) * add(static_cast<int64_t>(j / HS) % shape.Tk);
  forward(problem);
  return problem;
}

Reference reference(const Problem& problem) {
  return reference(problem.shape, problem.host(), all_rows(query_rows(problem.shape)),
                   all_rows(key_rows(problem.shape)));
}

std::string text(const Attention& s) {
  return "B=" + std::to_string(s.B) + " NH=" + std::to_string(s.NH) +
         " NH_kv=" + std::to_string(s.NH_kv) + " Tq=" + std::to_string(s.Tq) +
         " Tk=" + std::to_string(s.Tk) + " HS=" + std::to_string(s.HS) +
         (s.causal ? " causal" : " full");
}

bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(step.name, [&] { step.launch(shape, {}, {}, nullptr); });
}

void check_step(const Step<Launcher>& step, const Problem& problem, const Offsets& offset) {
  if (!is_in_sample(step.name)) return;
  const Attention& shape = problem.shape;
  if (is_too_large_here(step, shape)) return;
  INFO(step.name << " " << text(shape));
  for (size_t i = 0; i < offset.size(); ++i)
    if (offset[i] != 0) UNSCOPED_INFO("tensor " << i << " begins at float " << offset[i]);
  OnDevice on(step, problem, offset);
  const Reference want = reference(problem);
  on.launch();
  CUDA_CHECK_LAUNCH();
  const auto check = [&](const char* name, const DeviceBuffer<float>& got, const Expected& expected,
                         int64_t heads, int64_t rows) {
    const Comparison comparison =
        compare(got.to_host(), expected,
                {.name = name, .batch = heads, .rows = rows, .cols = shape.HS, .tile = step.tile});
    if (comparison.ok)
      SUCCEED();
    else
      FAIL_CHECK(comparison.report);
    if (!got.guards_intact()) FAIL_CHECK("the kernel wrote outside of " << name);
  };
  check("dq", on.dq, want.dq, shape.B * shape.NH, shape.Tq);
  check("dk", on.dk, want.dk, shape.B * shape.NH_kv, shape.Tk);
  check("dv", on.dv, want.dv, shape.B * shape.NH_kv, shape.Tk);
  if (!on.memory.guards_intact()) FAIL_CHECK("the kernel wrote outside of the workspace");
}

}  // namespace tutorial::flash_attention::backward
