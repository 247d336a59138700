// For the tests of the program: the road's row_on_chip in place of step 1, and wrong where they say
// so.
#include "common/testing/spoil.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax::long_rows {

void row_in_shared(const float* x, float* y, int64_t rows, int64_t cols) {
  row_on_chip(x, y, rows, cols);
  spoil(y);
}

}  // namespace tutorial::softmax::long_rows
