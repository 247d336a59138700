#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/plan.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul::any_shape {

std::map<std::string, int64_t> symbols_of(Launcher* step, const float* B, int64_t M, int64_t N,
                                          int64_t K) {
  std::map<std::string, int64_t> symbols = {{"M", M}, {"N", N}, {"K", K}};
  if (M == 0 || N == 0) return symbols;
  const Plan plan = best_plan(M, N, K, rows_are_aligned(B, N), multiprocessors());
  int64_t parts = plan.parts;
  if (step == &split_k) parts = parts_of_k(M, N, K, multiprocessors());
  if (step == &few_rows && M <= MOST_FEW_ROWS) parts = parts_of_few_rows(N, K, multiprocessors());
  symbols["S"] = parts;
  symbols["LDC"] = parts == 1 ? N : ceil_div(N, 4) * 4;
  symbols["BM"] = tiles[plan.tile].BM;
  symbols["BN"] = tiles[plan.tile].BN;
  return symbols;
}

}  // namespace tutorial::tiled_matmul::any_shape
