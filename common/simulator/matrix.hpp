// Operations that the 32 lanes of a warp make together on matrices (<ptx.h>): each lane comes with
// its part, and the last one to come does the work of all (Worker::matrix).
#pragma once

#include <array>

namespace simulator {

class Worker;

/// What lanes brought; null for those that do not take part.
using MatrixParts = std::array<void*, 32>;

struct MatrixOperation {
  const char* name;  // for reports
  void (*run)(Worker& worker, const MatrixParts& parts);
};

}  // namespace simulator
