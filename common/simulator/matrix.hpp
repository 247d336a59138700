// Operations that the 32 lanes of a warp make together on matrices (<ptx.h>): each lane comes with
// its part, and the last one to come does the work of all (Worker::matrix).
#pragma once

#include <array>
#include <cstdint>

namespace simulator {

/// In a program that has such operations the upper part of each thread's stack is filled with this
/// before the thread begins, so that a fragment's register that nothing wrote can be told: two NaN
/// of 16 bits, and one of 32, that no arithmetic makes.
inline constexpr uint32_t kUnwritten = 0xffd5ffd5;
extern bool has_matrix_operations;

class Worker;

/// What lanes brought; null for those that do not take part.
using MatrixParts = std::array<void*, 32>;

struct MatrixOperation {
  const char* name;  // for reports
  void (*run)(Worker& worker, const MatrixParts& parts);
};

}  // namespace simulator
