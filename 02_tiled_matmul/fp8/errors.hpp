// The notes below the table of part fp8: how far each way to multiply is from the float32 product.
#pragma once

#include <functional>

#include "common/program/table.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {

/// What a step gives: C, and these rows of the exact product of its rounded operands.
struct StepResult {
  std::vector<float> C;
  std::vector<double> of_rounded;
};

/// Notes the errors of each step, `multiply(step)` gives its result, and of bf16, TF32 and fp32
/// beside them. A (M, K) and B (N, K) in float32; of C these rows are looked at.
void note_errors(Table& table, const std::vector<float>& A, const std::vector<float>& B,
                 const Fp8Product& product, std::span<const int64_t> rows,
                 const std::function<StepResult(const Step<Launcher>&)>& multiply);

}  // namespace tutorial::tiled_matmul::fp8
