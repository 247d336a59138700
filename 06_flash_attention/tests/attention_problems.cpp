#include "attention_problems.hpp"

#include <cmath>

#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention {

Problem normal_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  return {shape, make_values({B, NH, Tq, HS}, Init::normal, 1),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 2),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 3)};
}

// q[0] = 1, and k[0] = √HS·add(j).
Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add) {
  Problem problem = normal_problem(shape);
  const auto HS = static_cast<size_t>(shape.HS);
  for (size_t i = 0; i < problem.q.size(); i += HS) problem.q[i] = 1;
  for (size_t j = 0; j < problem.k.size(); j += HS)
    problem.k[j] = std::sqrt(static_cast<float>(HS)) * add(static_cast<int64_t>(j / HS) % shape.Tk);
  return problem;
}

Reference reference(const Problem& problem) {
  return reference(problem.shape, problem.q, problem.k, problem.v, all_rows(problem.shape.rows()));
}

std::string text(const Attention& s) {
  return "B=" + std::to_string(s.B) + " NH=" + std::to_string(s.NH) +
         " NH_kv=" + std::to_string(s.NH_kv) + " Tq=" + std::to_string(s.Tq) +
         " Tk=" + std::to_string(s.Tk) + " HS=" + std::to_string(s.HS) +
         (s.causal ? " causal" : " full");
}

int64_t largest_head_size(const Step<Launcher>& step) {
  if (step.launch == kv_outer || step.launch == q_outer) return INT64_MAX;
  for (Launcher* fixed : {vector_reads, score_patch, output_patch, square_patch})
    if (step.launch == fixed) return 64;
  for (Launcher* large : {large_heads, own_keys, group_rows, split_keys, by_shape})
    if (step.launch == large) return 256;
  return 128;
}

int64_t own_head_size(const Step<Launcher>& step, int64_t HS) {
  return step.launch == large_heads && HS <= 128 ? ceil_div(HS, 8) * 8 + 128 : HS;
}

bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(
      step.name, [&] { step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); });
}

void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets) {
  const Attention& shape = problem.shape;
  if (shape.HS > largest_head_size(step) || is_too_large_here(step, shape)) return;
  if (shape.rows() > 0 && shape.HS != own_head_size(step, shape.HS)) return;
  const auto& [of_q, of_k, of_v, of_out, of_lse, of_scratch] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse << ", scratch " << of_scratch);
  const DeviceBuffer<float> q(problem.q, of_q), k(problem.k, of_k), v(problem.v, of_v);
  DeviceBuffer<float> lse(shape.rows(), of_lse), scratch(scratch_floats(shape), of_scratch);
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

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention
