// Words of steps 10 and 11: A and B with rows that begin at multiples of 16 bytes.
#pragma once

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// A and B as the kernel reads them, with rows lda and ldb elements apart: as they are, or a copy
/// whose rows end in zeros.
struct Operands {
  const bf16 *A, *B;
  int64_t lda, ldb;
  bf16* copies = nullptr;  // of one or of both; step 10 gives them back
};

/// Would a copy of those whose rows are not aligned save more time than it takes?
bool copies_pay(const bf16* A, const bf16* B, int64_t M, int64_t N, int64_t K);

/// Copies what is not aligned, where that pays and there is memory.
Operands aligned_operands(const bf16* A, const bf16* B, int64_t M, int64_t N, int64_t K);

/// Gives the copies back when the work queued so far is done.
void release(const Operands& operands);

}  // namespace tutorial::tiled_matmul::tensor_cores
