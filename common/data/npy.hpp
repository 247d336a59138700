// NumPy's .npy files: float32, C order, little endian, format versions 1 and 2.
// (numpy.org/doc, "numpy.lib.format".)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tutorial {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major
};

/// "2×3×4"; "()" for a scalar.
std::string shape_text(const std::vector<int64_t>& shape);
/// The product of the extents. Throws Error when it does not fit (more than 2^60 elements).
int64_t element_count(const std::vector<int64_t>& shape);

/// Reads a file. Throws Error, one sentence, for a file that is missing, cut short, too long, not
/// .npy, of another version, type or byte order, or in Fortran order.
Tensor read_npy(const std::string& path);

/// Writes version 1, 64-byte aligned. Writes beside `path` and renames, so that a failure leaves no
/// partial file and an old file stays. Throws Error when it cannot.
void write_npy(const std::string& path, const Tensor& tensor);

/// Writes `text` in the same all-or-nothing way.
void write_file(const std::string& path, const std::string& text);
/// The same for several parts, one after the other.
void write_parts(const std::string& path, std::initializer_list<std::string_view> parts);

/// Throws Error unless a file can be created at `path`. Creates nothing that stays.
void require_writable(const std::string& path);

}  // namespace tutorial
