#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/plan.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul::any_shape {

Plan plan_of(const ScaledProduct& product, const float* B) {
  const int64_t N = product.N, K = depth_of(product);
  const bool as_it_is = K == 0 || rows_are_aligned(B, N);  // K = 0: B is not read
  return best_plan(product.M, N, K, as_it_is, multiprocessors());
}

int64_t workspace_bytes(const Plan& plan, const ScaledProduct& product) {
  return Workspace::bytes_of<float>(plan.copy_b ? floats_of_copy(product) : 0) +
         Workspace::bytes_of<float>(floats_of_parts(product, plan.parts));
}

int64_t workspace_bytes(const ScaledProduct& product, const float* B) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (M == 0 || N == 0) return 0;
  const auto bytes_of = [&](bool copy_b, int64_t parts) {
    return workspace_bytes(Plan{.parts = parts, .copy_b = copy_b}, product);
  };
  const bool few = are_few_rows(product, B);
  return std::max({bytes_of(copy_pays(product, B), 1),                       // step 2
                   bytes_of(false, parts_of_k(M, N, K, multiprocessors())),  // step 3
                   workspace_bytes(plan_of(product, B), product),            // step 4
                   few ? bytes_of(false, parts_of_few_rows(N, K, multiprocessors())) : 0});
}

}  // namespace tutorial::tiled_matmul::any_shape
