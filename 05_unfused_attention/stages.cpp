#include "stages.hpp"

#include <algorithm>
#include <string>

#include "common/kernel/check.hpp"

namespace tutorial::unfused_attention {
namespace {

/// What the stages of a step are about.
struct Of {
  const Attention& a;
  Input& input;
  StageWorkspace& w;
  uint64_t seed;

  double elements() const { return static_cast<double>(a.elements()); }
  double scores() const { return static_cast<double>(a.scores()); }
  double seen() const { return static_cast<double>(a.seen()); }
  /// The shape of preatt and of att.
  std::vector<int64_t> scores_shape() const { return {a.heads(), a.T, a.T}; }
};

/// For a stage that works in place.
std::function<void(float*)> copy_scores(Of of) {
  return [of](float* out) {
    CUDA_CHECK(cudaMemcpyAsync(out, of.w.preatt.data(), of.a.scores() * sizeof(float),
                               cudaMemcpyDeviceToDevice));
  };
}

/// Compares with a reference that takes the rows to compute: as many as the host can afford.
template <class Reference>
std::function<Comparison(const Launched&)> by_rows(Of of, const Reference& reference) {
  return [of, reference](const Launched& row) {
    const auto steps = static_cast<int64_t>(affordable(1e8));
    const auto rows =
        sample_rows(of.a.heads() * of.a.T, 1 + steps / (of.a.T * (of.a.HS() + 20)), of.seed);
    return compare_rows(row.output, reference(rows), rows, row.layout);
  };
}

using Rows = std::vector<int64_t>;

/// Of step 1.
std::vector<Stage> six_stages(Of of) {
  const std::string cublas = of.a.tf32 ? " (cuBLAS, TF32)" : " (cuBLAS, fp32)";
  const int64_t heads = of.a.heads();
  const double n = of.elements(), s = of.scores(), seen = of.seen();
  const double flop = 2 * s * static_cast<double>(of.a.HS());
  const auto permute_to = [of](float* q, float* k, float* v) {
    permute(of.a, of.input.device(), q, k, v);
  };
  const auto scores_to = [of](float* preatt) {
    scores(of.a, of.w.blas, of.w.q.data(), of.w.k.data(), preatt);
  };
  const auto softmax_to = [of](float* att) { softmax(of.a, of.w.preatt.data(), att); };
  const auto values_to = [of](float* vaccum) {
    values(of.a, of.w.blas, of.w.att.data(), of.w.v.data(), vaccum);
  };

  return {
      {.prepare = [] {},
       .row = {.name = "permute",
               .launch =
                   [=](float* out) {
                     const int64_t part = of.a.elements();
                     permute_to(out, out + part, out + 2 * part);
                   },
               .shape = {3 * heads, of.a.T, of.a.HS()},
               .cost = {.flop = 0, .bytes = 24 * n},
               .is_stage = true},
       .check =
           [of](const Launched& row) {
             return compare(row.output, permute_reference(of.a, of.input.host()), row.layout);
           }},

      {.prepare = [=] { permute_to(of.w.q.data(), of.w.k.data(), of.w.v.data()); },
       .row = {.name = "scores" + cublas,
               .launch = scores_to,
               .shape = of.scores_shape(),
               .cost = {.flop = flop, .bytes = 8 * n + 4 * s},
               .is_stage = true},
       .check = by_rows(of,
                        [of](const Rows& rows) {
                          return scores_reference(of.a, of.w.q.to_host(), of.w.k.to_host(), rows);
                        })},

      {.prepare = [=] { scores_to(of.w.preatt.data()); },
       .row = {.name = "scale_mask",
               .launch = [of](float* out) { scale_mask(of.a, out); },
               .before = copy_scores(of),
               .shape = of.scores_shape(),
               .cost = {.flop = seen, .bytes = 4 * seen + 4 * s},
               .is_stage = true},
       .check = by_rows(of,
                        [of](const Rows& rows) {
                          return scale_mask_reference(of.a, of.w.preatt.to_host(), rows);
                        })},

      {.prepare = [of] { scale_mask(of.a, of.w.preatt.data()); },
       .row = {.name = "softmax",
               .launch = softmax_to,
               .shape = of.scores_shape(),
               .cost = {.flop = 5 * s, .bytes = 8 * s},
               .is_stage = true},
       .check = by_rows(of,
                        [of](const Rows& rows) {
                          return softmax_reference(of.a, of.w.preatt.to_host(), rows);
                        })},

      {.prepare = [=] { softmax_to(of.w.att.data()); },
       .row = {.name = "values" + cublas,
               .launch = values_to,
               .shape = {heads, of.a.T, of.a.HS()},
               .cost = {.flop = flop, .bytes = 4 * s + 8 * n},
               .is_stage = true},
       .check = by_rows(of,
                        [of](const Rows& rows) {
                          return values_reference(of.a, of.w.att.to_host(), of.w.v.to_host(), rows);
                        })},

      {.prepare = [=] { values_to(of.w.vaccum.data()); },
       .row = {.name = "unpermute",
               .launch = [of](float* out) { unpermute(of.a, of.w.vaccum.data(), out); },
               .cost = {.flop = 0, .bytes = 8 * n},
               .is_stage = true},
       .check =
           [of](const Launched& row) {
             return compare(row.output, unpermute_reference(of.a, of.w.vaccum.to_host()),
                            row.layout);
           }},
  };
}

/// Of step 2: its kernel.
Stage fused_stage(Of of) {
  return {.prepare =
              [of] {
                permute(of.a, of.input.device(), of.w.q.data(), of.w.k.data(), of.w.v.data());
                scores(of.a, of.w.blas, of.w.q.data(), of.w.k.data(), of.w.preatt.data());
              },
          .row = {.name = "scale_mask_softmax",
                  .launch = [of](float* out) { scale_mask_softmax(of.a, of.w.preatt.data(), out); },
                  .shape = of.scores_shape(),
                  .cost = {.flop = 10 * of.seen(), .bytes = 4 * of.seen() + 4 * of.scores()},
                  .is_stage = true},
          .check = by_rows(of, [of](const Rows& rows) {
            return scale_mask_softmax_reference(of.a, of.w.preatt.to_host(), rows);
          })};
}

/// Of step 4: its kernel.
Stage stage_in_registers(Of of) {
  return {.prepare =
              [of] {
                float* const preatt = of.w.preatt.data();
                const HeadPointers at =
                    locate(of.a, of.input.device(), of.w, preatt, preatt, of.w.vaccum.data());
                strided_scores(of.a, of.w.blas, at, whole(of.a), of.a.scale());
              },
          .row = {.name = "masked_softmax",
                  .launch = [of](float* out) { masked_softmax(of.a, whole(of.a), out); },
                  .before = copy_scores(of),
                  .shape = of.scores_shape(),
                  .cost = {.flop = 5 * of.seen(), .bytes = 4 * of.seen() + 4 * of.scores()},
                  .is_stage = true},
          .check = by_rows(of, [of](const Rows& rows) {
            return masked_softmax_reference(of.a, whole(of.a), of.w.preatt.to_host(), rows);
          })};
}

}  // namespace

std::vector<Stage> stages_above(const Step<Launcher>& step, const Attention& attention, Input& qkv,
                                StageWorkspace& workspace, uint64_t seed) {
  const Of of{attention, qkv, workspace, seed};
  if (attention.elements() == 0) return {};
  std::vector<Stage> stages;
  if (step.launch == &unfused) stages = six_stages(of);
  if (step.launch == &fused_softmax) stages = {fused_stage(of)};
  if (step.launch == &row_in_registers) stages = {stage_in_registers(of)};
  for (Stage& stage : stages)
    stage.row.asked = [of] { return kernels_ask(of.a, nullptr, of.w, nullptr); };
  return stages;
}

}  // namespace tutorial::unfused_attention
