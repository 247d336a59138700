// A tensor that a chapter's program takes from a file, or makes; and the sizes that files give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/data/random.hpp"

namespace tutorial {

struct Declared;  // options.hpp

/// One extent of an input: the size option that it equals, or that it is a multiple of.
struct Extent {
  const char* option;
  int64_t times = 1;
};

/// Its values are there after Chapter::parse().
class Input {
 public:
  Input(std::string name, std::vector<Extent> extents, std::string help);

  /// The values: read from the file by parse(), or made at the first call.
  const std::vector<float>& host();
  /// Their copy on the device, made at the first call: fetch it before anything is timed.
  const float* device();

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::vector<Extent>& extents() const { return extents_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  bool is_from_file() const { return is_from_file_; }
  bool is_on_device() const { return copy_.has_value(); }
  /// The copy that device() made, or null.
  const float* copy() const { return copy_ ? copy_->data() : nullptr; }

  // For parse().
  void take(std::vector<float> values);  // from a file
  void settle(std::vector<int64_t> shape, Init init, uint64_t seed);

 private:
  std::string name_, help_;
  std::vector<Extent> extents_;
  bool is_from_file_ = false;
  std::vector<int64_t> shape_;
  Init init_ = Init::uniform;  // of values that no file gives
  uint64_t seed_ = 0;
  std::optional<std::vector<float>> values_;
  std::optional<DeviceBuffer<float>> copy_;
};

/// Reads "name=file.npy" and takes sizes from the file's shape. Throws Error.
void read_input(Declared& declared, const std::string& assignment);
/// Gives each size that nobody set its default, and each input its shape.
void settle_sizes(Declared& declared, Init init, uint64_t seed);
/// "(batch, 3·channels)"
std::string extents_text(const Input& input);

/// Throws Error when the device has too little free memory for the inputs, an output of this shape
/// and `scratch_bytes` more.
void require_memory(const Declared& declared, const std::vector<int64_t>& output_shape,
                    double scratch_bytes);

}  // namespace tutorial
