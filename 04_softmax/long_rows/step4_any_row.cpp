// Step 4 = the road's last two steps, step 1 and step 3, each for the rows that it is the fastest
// for. It has no kernel of its own: FLOP, bytes and block are those of the step that it calls.
//
// long diff       it has no kernel and calls those of other steps
#include "common/backend/backend.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax::long_rows {
namespace {

// Columns that the registers of a warp hold in warp_per_row, and those of a block in row_on_chip.
constexpr int64_t FITS_A_WARP = 32 * 32, FITS_A_BLOCK = 1024 * 32;

/// Does a row fill at least 7/8 of the registers that row_on_chip takes for it? It takes a power of
/// two.
bool fills_registers(int64_t cols) {
  int64_t held = FITS_A_WARP;
  while (held < cols) held *= 2;
  return 8 * cols >= 7 * held;
}

}  // namespace

void any_row(const Softmax& problem, const float* x, float* y, cudaStream_t stream) {
  const int64_t rows = problem.rows, cols = problem.cols;
  if (cols <= FITS_A_WARP) return warp_per_row_on(x, y, rows, cols, stream);
  if (cols > FITS_A_BLOCK && why_not_here("sm_90").empty())
    return half_in_registers(problem, x, y, stream);
  if (cols <= FITS_A_BLOCK && fills_registers(cols))
    return row_on_chip_on(x, y, rows, cols, stream);
  row_in_shared(problem, x, y, stream);
}

}  // namespace tutorial::softmax::long_rows
