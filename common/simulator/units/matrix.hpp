// Operations that the 32 lanes of a warp make together on matrices (<ptx.h>, <mma.h>): each lane
// comes with its part, and the last one to come does the work of all (RunningBlock::matrix).
#pragma once

#include <array>
#include <cstdint>

namespace simulator {

/// In a program that has such operations the upper part of each thread's stack is filled with this
/// before the thread begins, so that a fragment's register that nothing wrote can be told: two NaN
/// of 16 bits, and one of 32, that no arithmetic makes.
inline constexpr uint32_t kUnwritten = 0xffd5ffd5;
extern bool has_matrix_operations;

class RunningBlock;

/// What lanes brought; null for those that do not take part.
using MatrixParts = std::array<void*, 32>;

struct MatrixOperation {
  const char* name;  // for reports
  int needs;         // 80: compute capability 8.0
  void (*run)(RunningBlock& running, const MatrixParts& parts);
};

/// Called for each lane, with its part.
void come_together(const MatrixOperation& operation, void* part, const void* instruction);
/// Rounded to nearest, with the NaN that a GPU's tensor cores make.
float to_float_as_gpu(double sum);

}  // namespace simulator
