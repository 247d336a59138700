// For the tests of the program: the road's row_on_chip in place of step 1, and wrong where they say
// so.
#include "common/testing/spoil.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax::long_rows {

void row_in_shared(const Softmax& problem, const float* x, float* y, cudaStream_t stream) {
  row_on_chip_on(x, y, problem.rows, problem.cols, stream);
  spoil(y);
}

}  // namespace tutorial::softmax::long_rows
