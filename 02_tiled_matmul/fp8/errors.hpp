// The notes below the table of part fp8: how far each way to multiply is from the float32 product.
#pragma once

#include <string>

#include "common/program/table.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {

/// Collects a line for each way to multiply A (M, K) by B (N, K), float32. Of C these rows are
/// looked at.
class Errors {
 public:
  Errors(const std::vector<float>& A, const std::vector<float>& B, const Fp8Product& product,
         std::span<const int64_t> rows);
  /// A step's C, and these rows of the exact product of its rounded operands.
  void add(const std::string& name, std::span<const float> C,
           const std::vector<double>& of_rounded);
  /// Notes these lines, and behind them those of bf16, TF32 and fp32.
  void note(Table& table);

 private:
  double error_of(std::span<const float> C, const std::vector<double>& want) const;

  const std::vector<float>& A_;
  std::vector<float> B_;  // (K, N), as the others take it
  Fp8Product product_;
  std::span<const int64_t> rows_;
  std::vector<double> exact_;
  std::vector<std::string> lines_;
};

}  // namespace tutorial::tiled_matmul::fp8
