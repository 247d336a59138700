#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/plan.hpp"

namespace tutorial::tiled_matmul::any_shape {

std::map<std::string, int64_t> symbols_of(Launcher* step, const ScaledProduct& product,
                                          const float* B) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  std::map<std::string, int64_t> symbols = {{"M", M}, {"N", N}, {"K", K}};
  if (M == 0 || N == 0) return symbols;
  const Plan plan = plan_of(product, B);
  int64_t parts = plan.parts;
  if (step == &split_k) parts = parts_of_k(M, N, K, multiprocessors());
  if (step == &few_rows && M <= MOST_FEW_ROWS) parts = parts_of_few_rows(N, K, multiprocessors());
  symbols["S"] = parts;
  symbols["LDC"] = parts == 1 ? N : aligned_ld(N);
  symbols["BM"] = tiles[plan.tile].BM;
  symbols["BN"] = tiles[plan.tile].BN;
  return symbols;
}

}  // namespace tutorial::tiled_matmul::any_shape
