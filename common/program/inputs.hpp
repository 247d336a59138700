// A tensor that a chapter's program takes from a file, or makes; and the sizes that files give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/data/random.hpp"

namespace tutorial {

class Options;  // options.hpp

/// One extent of an input: the size option that it equals, or that it is a multiple of.
struct Extent {
  Extent(const char* option, int64_t times = 1) : option(option), times(times) {}
  std::string option;
  int64_t times;
};

/// A tensor that a program takes: {"a", {"--m", "--k"}, "the left matrix"}.
struct InputOption {
  std::string name;
  std::vector<Extent> extents;
  std::string help;
};

/// The tensor: from `--input name=file.npy`, else by --init and --seed.
class Input {
 public:
  explicit Input(InputOption option) : option_(std::move(option)) {}

  /// The values: read from the file by read_options(), or made at the first call.
  const std::vector<float>& host();
  /// Their copy on the device, made at the first call: fetch it before anything is timed.
  const float* device();

  const std::string& name() const { return option_.name; }
  const std::vector<Extent>& extents() const { return option_.extents; }
  const std::vector<int64_t>& shape() const { return shape_; }
  bool is_from_file() const { return is_from_file_; }
  bool is_on_device() const { return copy_.has_value(); }
  /// The copy that device() made, or null.
  const float* copy() const { return copy_ ? copy_->data() : nullptr; }

  // For read_options().
  void take(std::vector<float> values);  // from a file
  void settle(std::vector<int64_t> shape, Init init, uint64_t seed);

 private:
  InputOption option_;
  bool is_from_file_ = false;
  std::vector<int64_t> shape_;
  Init init_ = Init::uniform;  // of values that no file gives
  uint64_t seed_ = 0;
  std::optional<std::vector<float>> values_;
  std::optional<DeviceBuffer<float>> copy_;
};

/// Reads "name=file.npy" and takes sizes from the file's shape. Throws Error.
void read_input(Options& options, const std::string& assignment);
/// Gives each size that nobody set its default, and each input its shape.
void settle_sizes(Options& options);
/// "(batch, 3·channels)"
std::string extents_text(const std::vector<Extent>& extents);

/// Throws Error when the device has too little free memory for the inputs, an output of this shape
/// and `scratch_bytes` more.
void require_memory(const Options& options, const std::vector<int64_t>& output_shape,
                    double scratch_bytes);

}  // namespace tutorial
