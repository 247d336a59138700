// NumPy's .npy files: float32, C order, little endian, format versions 1 and 2.
// (numpy.org/doc, "numpy.lib.format".)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/data/shape.hpp"

namespace tutorial {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major
};

/// Reads a file. Throws Error, one sentence, for a file that is missing, cut short, too long, not
/// .npy, of another version, type or byte order, or in Fortran order.
Tensor read_npy(const std::string& path);

/// Writes version 1, 64-byte aligned. Writes beside `path` and renames, so that a failure leaves no
/// partial file and an old file stays. Throws Error when it cannot.
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace tutorial
