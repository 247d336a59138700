#include "stage_rows.hpp"

#include <algorithm>

#include "common/kernel/check.hpp"

namespace tutorial::unfused_attention {

void StageRows::run_above(const Step<Launcher>& step) {
  if (a_.elements() == 0) return;
  if (step.launch == &unfused) six_stages();
  if (step.launch == &fused_softmax) fused_stage();
  if (step.launch == &row_in_registers) stage_in_registers();
}

void StageRows::six_stages() {
  const float* qkv = input_.device();
  const double n = static_cast<double>(a_.elements()), s = static_cast<double>(a_.scores()),
               seen = static_cast<double>(a_.seen());
  const int64_t heads = a_.heads(), part = a_.elements();
  const double flop = 2 * s * static_cast<double>(a_.HS());
  const std::string cublas = a_.tf32 ? " (cuBLAS, TF32)" : " (cuBLAS, fp32)";
  const std::vector<int64_t> all_scores = {heads, a_.T, a_.T};

  run({.name = "permute",
       .launch = [&](float* out) { permute(a_, qkv, out, out + part, out + 2 * part); },
       .shape = {3 * heads, a_.T, a_.HS()},
       .check =
           [&](std::span<const float> got, const Layout& layout) {
             return compare(got, permute_reference(a_, input_.host()), layout);
           },
       .cost = {.flop = 0, .bytes = 24 * n}});
  permute(a_, qkv, w_.q.data(), w_.k.data(), w_.v.data());

  run({.name = "scores" + cublas,
       .launch = [&](float* out) { scores(a_, w_.blas, w_.q.data(), w_.k.data(), out); },
       .shape = all_scores,
       .check = by_rows([&](const auto& rows) {
         return scores_reference(a_, w_.q.to_host(), w_.k.to_host(), rows);
       }),
       .cost = {.flop = flop, .bytes = 8 * n + 4 * s}});
  scores(a_, w_.blas, w_.q.data(), w_.k.data(), w_.preatt.data());

  run({.name = "scale_mask",
       .launch = [&](float* out) { scale_mask(a_, out); },
       .before = [&](float* out) { copy_scores(out); },
       .shape = all_scores,
       .check = by_rows(
           [&](const auto& rows) { return scale_mask_reference(a_, w_.preatt.to_host(), rows); }),
       .cost = {.flop = seen, .bytes = 4 * seen + 4 * s}});
  scale_mask(a_, w_.preatt.data());

  run({.name = "softmax",
       .launch = [&](float* out) { softmax(a_, w_.preatt.data(), out); },
       .shape = all_scores,
       .check = by_rows(
           [&](const auto& rows) { return softmax_reference(a_, w_.preatt.to_host(), rows); }),
       .cost = {.flop = 5 * s, .bytes = 8 * s}});
  softmax(a_, w_.preatt.data(), w_.att.data());

  run({.name = "values" + cublas,
       .launch = [&](float* out) { values(a_, w_.blas, w_.att.data(), w_.v.data(), out); },
       .shape = {heads, a_.T, a_.HS()},
       .check = by_rows([&](const auto& rows) {
         return values_reference(a_, w_.att.to_host(), w_.v.to_host(), rows);
       }),
       .cost = {.flop = flop, .bytes = 4 * s + 8 * n}});
  values(a_, w_.blas, w_.att.data(), w_.v.data(), w_.vaccum.data());

  run({.name = "unpermute",
       .launch = [&](float* out) { unpermute(a_, w_.vaccum.data(), out); },
       .check =
           [&](std::span<const float> got, const Layout& layout) {
             return compare(got, unpermute_reference(a_, w_.vaccum.to_host()), layout);
           },
       .cost = {.flop = 0, .bytes = 8 * n}});
}

void StageRows::fused_stage() {
  const double s = static_cast<double>(a_.scores()), seen = static_cast<double>(a_.seen());
  permute(a_, input_.device(), w_.q.data(), w_.k.data(), w_.v.data());
  scores(a_, w_.blas, w_.q.data(), w_.k.data(), w_.preatt.data());
  run({.name = "scale_mask_softmax",
       .launch = [&](float* out) { scale_mask_softmax(a_, w_.preatt.data(), out); },
       .shape = {a_.heads(), a_.T, a_.T},
       .check = by_rows([&](const auto& rows) {
         return scale_mask_softmax_reference(a_, w_.preatt.to_host(), rows);
       }),
       .cost = {.flop = 10 * seen, .bytes = 4 * seen + 4 * s}});
}

void StageRows::stage_in_registers() {
  const double s = static_cast<double>(a_.scores()), seen = static_cast<double>(a_.seen());
  float* const preatt = w_.preatt.data();
  const HeadPointers at = locate(a_, input_.device(), w_, preatt, preatt, w_.vaccum.data());
  strided_scores(a_, w_.blas, at, whole(a_), a_.scale());
  run({.name = "masked_softmax",
       .launch = [&](float* out) { masked_softmax(a_, whole(a_), out); },
       .before = [&](float* out) { copy_scores(out); },
       .shape = {a_.heads(), a_.T, a_.T},
       .check = by_rows([&](const auto& rows) {
         return masked_softmax_reference(a_, whole(a_), w_.preatt.to_host(), rows);
       }),
       .cost = {.flop = 5 * seen, .bytes = 4 * seen + 4 * s}});
}

void StageRows::run(Row row) {
  row.is_stage = true;
  chapter_.run(std::move(row));
}

void StageRows::copy_scores(float* out) const {
  CUDA_CHECK(cudaMemcpyAsync(out, w_.preatt.data(), a_.scores() * sizeof(float),
                             cudaMemcpyDeviceToDevice));
}

/// Compares with a reference that takes the rows to compute: as many as the host can afford.
Check StageRows::by_rows(std::function<Expected(const std::vector<int64_t>&)> reference) const {
  return [this, reference](std::span<const float> got, const Layout& layout) {
    const int64_t all = a_.heads() * a_.T;
    const int64_t affordable = 1 + 100'000'000 / (a_.T * (a_.HS() + 20));
    const auto rows = sample_rows(all, std::min(all, affordable), chapter_.seed());
    return compare_rows(got, reference(rows), rows, layout);
  };
}

}  // namespace tutorial::unfused_attention
