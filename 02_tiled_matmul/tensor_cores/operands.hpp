// Words of steps 13 to 15: A and B with rows that begin at multiples of 16 bytes.
#pragma once

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// A and B as the kernel reads them, with rows lda and ldb elements apart: as they are, or a copy
/// whose rows end in zeros.
struct Operands {
  const bf16 *A, *B;
  int64_t lda, ldb;
};

/// Would a copy of those whose rows are not aligned save more time than it takes?
bool copies_pay(const Bf16Product& product, const bf16* A, const bf16* B);

/// … and is the workspace large enough?
bool are_copied(const Bf16Product& product, const bf16* A, const bf16* B, Workspace workspace);

/// Copies what is not aligned into the workspace, if so.
Operands aligned_operands(const Bf16Product& product, const bf16* A, const bf16* B,
                          Workspace workspace, cudaStream_t stream);

}  // namespace tutorial::tiled_matmul::tensor_cores
