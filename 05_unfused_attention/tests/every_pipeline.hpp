// What every pipeline is tested for, the road's steps and those of part strips: each function is
// the body of a TEST_CASE.
#pragma once

#include <cmath>
#include <vector>

#include "common/kernel/error.hpp"
#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {

inline void check_long_rows(const Step<Launcher>& step) {
  const Attention a = {.B = 1, .T = 1028, .C = 2, .NH = 1, .strip_height = 600};
  if (step.launch == &row_in_registers || step.launch == &strips::overlapped_strips)
    check_pipeline(step, a, values_for(a));
}

inline void check_infinite_value(const Step<Launcher>& step) {
  Attention a = {.B = 2, .T = 20, .C = 6, .NH = 2, .strip_height = 8};
  a.causal = GENERATE(true, false);
  const float value = GENERATE(INF, QUIET_NAN);
  std::vector<float> qkv = values_for(a);
  qkv[((0 * a.T + 12) * 3 + 2) * a.C + 4] = value;  // batch 0, head 1: value 12
  const int64_t height = strip_height_of(step, a);
  const Expected want = attention_reference(a, qkv, all_rows(a.B * a.T), height);
  for (int64_t row = 0; row < a.B * a.T; ++row)
    for (int64_t c = 0; c < a.C; ++c) {
      const bool multiplied = row < a.T && c == 4 && row >= (height == 8 ? 8 : 0);
      CHECK(std::isfinite(want.value[row * a.C + c]) == !multiplied);
      // Before key 12 the weight is 0, and 0·infinity is NaN.
      if (multiplied && a.causal && row < 12) CHECK(std::isnan(want.value[row * a.C + c]));
    }
  check_pipeline(step, a, qkv);
}

inline void check_default_stream(const Step<Launcher>& step) {
  const Attention a = {.B = 1, .T = 160, .C = 32, .NH = 2, .strip_height = 32};
  const std::vector<float> first = values_for(a, 1), second = values_for(a, 2);
  DeviceBuffer<float> qkv(first), out(a.elements()), copy(a.elements());
  const DeviceBuffer<float> next(second);
  StageWorkspace workspace(a);
  const size_t bytes = a.elements() * sizeof(float);
  // Nothing waits in between: the second input comes only when the first has been read, and the
  // copy only when the first result has been written.
  step.launch(a, qkv.data(), workspace, out.data());
  CUDA_CHECK(cudaMemcpyAsync(copy.data(), out.data(), bytes, cudaMemcpyDeviceToDevice));
  CUDA_CHECK(cudaMemcpyAsync(qkv.data(), next.data(), 3 * bytes, cudaMemcpyDeviceToDevice));
  step.launch(a, qkv.data(), workspace, out.data());
  const auto rows = all_rows(a.B * a.T);
  const auto check = [&](const DeviceBuffer<float>& got, const std::vector<float>& input) {
    const Comparison comparison =
        compare(got.to_host(), attention_reference(a, input, rows), out_layout(a));
    INFO(comparison.report);
    CHECK(comparison.ok);
  };
  check(copy, first);
  check(out, second);
}

inline void check_any_shape(const Step<Launcher>& step) {
  const Attention a = each_shape();
  check_pipeline(step, a, values_for(a));
}

// 18 GB, so it must be asked for by its tag.
inline void check_large(const Step<Launcher>& step) {
  const Attention a = {.B = 1, .T = 46400, .C = 8, .NH = 1};
  const std::vector<float> qkv = values_for(a);
  const DeviceBuffer<float> input(qkv);
  DeviceBuffer<float> out(a.elements());
  StageWorkspace workspace(a);
  step.launch(a, input.data(), workspace, out.data());
  CUDA_CHECK_LAUNCH();
  const std::vector<int64_t> rows = sample_rows(a.T, 64, 1);  // the last among them
  const Comparison comparison =
      compare_rows(out.to_host(), attention_reference(a, qkv, rows, strip_height_of(step, a)), rows,
                   out_layout(a));
  INFO(step.name << '\n' << comparison.report);
  CHECK(comparison.ok);
}

inline void check_empty(const Step<Launcher>& step) {
  const Attention a = GENERATE(
      Attention{.B = 0, .T = 5, .C = 6, .NH = 2}, Attention{.B = 2, .T = 0, .C = 6, .NH = 2},
      Attention{.B = 2, .T = 5, .C = 0, .NH = 2}, Attention{.B = 2, .T = 5, .C = 0, .NH = 0});
  check_pipeline(step, a, {});
}

inline void check_any_block_size(const Step<Launcher>& step) {
  Attention a = {.B = 2, .T = 11, .C = 10, .NH = 2};
  a.block_size = GENERATE(32, 96, 256, 1024);
  check_pipeline(step, a, values_for(a));
}

// Smaller than a GPU's, so that it does not take 2^31 rows.
inline void check_small_grid(const Step<Launcher>& step) {
  const SmallGrid grid(5, 3);
  Attention a = {.B = 2, .T = 20, .C = 10, .NH = 2, .block_size = 64};
  a.causal = GENERATE(true, false);
  check_pipeline(step, a, values_for(a));
}

inline void check_any_alignment(const Step<Launcher>& step) {
  // Heads of 8 floats: their rows would allow 16-byte accesses.
  const Attention a = {.B = 2, .T = 21, .C = 16, .NH = 2, .block_size = 32};
  for (const int64_t offset : {1, 2, 3}) {
    check_pipeline(step, a, values_for(a), offset, 0);
    check_pipeline(step, a, values_for(a), 0, offset);
    check_pipeline(step, a, values_for(a), offset, 4 - offset);
  }
}

inline void check_far_from_zero(const Step<Launcher>& step) {
  Attention a = {.B = 2, .T = 45, .C = 10, .NH = 2, .block_size = 32};
  a.causal = GENERATE(true, false);
  for (const float score : {200.0f, -200.0f, -20000.0f})
    check_pipeline(step, a, qkv_with_scores_near(a, score));
}

inline void check_hard_scores(const Step<Launcher>& step) {
  HardProblem problem = hard_problem(GENERATE(16, 33));
  problem.attention.causal = GENERATE(true, false);
  check_pipeline(step, problem.attention, problem.qkv);
}

inline void check_tf32(const Step<Launcher>& step) {
  Attention a = {.B = 2, .T = 45, .C = 36, .NH = 3, .tf32 = true, .block_size = 32};
  a.causal = GENERATE(true, false);
  check_pipeline(step, a, values_for(a));
}

inline void check_nan_key(const Step<Launcher>& step) {
  const Attention a = {.B = 2, .T = 20, .C = 6, .NH = 2};
  std::vector<float> qkv = values_for(a);
  qkv[((0 * a.T + 12) * 3 + 1) * a.C + 4] = QUIET_NAN;  // batch 0, head 1: key 12
  const Expected want = attention_reference(a, qkv, all_rows(a.B * a.T));
  for (int64_t row = 0; row < a.B * a.T; ++row)
    for (int64_t c = 0; c < a.C; ++c)
      CHECK(std::isnan(want.value[row * a.C + c]) == (row < a.T && row >= 12 && c >= 3));
  check_pipeline(step, a, qkv);
}

inline void check_refusals(const Step<Launcher>& step) {
  const Attention good = {.B = 1, .T = 8, .C = 6, .NH = 2};
  const std::vector<float> qkv = values_for(good);
  const DeviceBuffer<float> input(qkv);
  StageWorkspace workspace(good);
  DeviceBuffer<float> out(good.elements());
  Attention bad = good;
  bad.block_size = 48;
  CHECK_THROWS_AS(step.launch(bad, input.data(), workspace, out.data()), Error);
  bad = good;
  bad.C = int64_t{1} << 30;  // 3·C is the distance between rows of q, k and v
  if (step.launch != &unfused && step.launch != &fused_softmax) {
    CHECK_THROWS_AS(step.launch(bad, input.data(), workspace, out.data()), Error);
    bad.B = 0;  // so the program asks
    CHECK_THROWS_AS(step.launch(bad, nullptr, workspace, nullptr), Error);
  }
  for (const float value : out.to_host()) CHECK(std::isnan(value));
}

inline void check_any_strip(const Step<Launcher>& step) {
  Attention a = {.B = 2, .C = 12, .NH = 3, .block_size = 32};
  a.NH = GENERATE(1, 3);
  a.causal = GENERATE(true, false);
  for (const int64_t strip : {1, 6, 16})
    for (const int64_t T : {1, 15, 16, 17, 33, 48}) {
      a.T = T;
      a.strip_height = strip;
      check_pipeline(step, a, values_for(a));
    }
}

}  // namespace tutorial::unfused_attention
