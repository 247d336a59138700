// A tensor that a chapter's program takes from a file, or makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/data/random.hpp"

namespace tutorial {

/// One extent of an input: the size option that it equals, or that it is a multiple of.
struct Extent {
  const char* option;
  int64_t times = 1;
};

/// Its values are there after Chapter::parse().
class Input {
 public:
  Input(std::string input_name, std::vector<Extent> shape, std::string help_text)
      : name(std::move(input_name)), extents(std::move(shape)), help(std::move(help_text)) {}

  /// The values: read from the file by parse(), or made at the first call.
  const std::vector<float>& host();
  /// Their copy on the device, made at the first call: fetch it before anything is timed.
  const float* device();

  std::string name;
  std::vector<Extent> extents;
  std::string help;
  bool from_file = false;
  bool is_on_device() const { return copy_.has_value(); }
  std::vector<int64_t> shape = {};  // known after parse()
  Init init = Init::uniform;        // of values that no file gives
  uint64_t seed = 0;
  void take(std::vector<float> values) { values_ = std::move(values), from_file = true; }

 private:
  std::optional<std::vector<float>> values_;
  std::optional<DeviceBuffer<float>> copy_;
};

}  // namespace tutorial
