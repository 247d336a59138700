// Reading weights.bin and weights.txt, and where each weight lies.
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "common/data/files.hpp"
#include "common/kernel/error.hpp"
#include "model/model.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// Hands out an array's pieces, one behind the other.
struct Pieces {
  const float* at;
  const float* take(int64_t count) {
    const float* const piece = at;
    at += count;
    return piece;
  }
  Norm norm(int64_t width) {
    const float* const gain = take(width);
    return {gain, take(width)};
  }
  Linear linear(int64_t in, int64_t out) {
    const float* const weight = take(in * out);
    return {weight, take(out), in, out};
  }
};

/// CRC-32 as zlib and PNG have it: the bits of each byte from the lowest on, polynomial 0x04c11db7.
uint32_t crc32(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Error(path + " " + what + "; take both files of the model again, or train one: train.py");
}

/// The lines "layers 4" of weights.txt.
class Said {
 public:
  explicit Said(const std::string& path) : path_(path) {
    for (const std::string& line : read_lines(path)) {
      const size_t space = line.find(' ');
      if (!line.starts_with('#') && space != line.npos)
        values_[line.substr(0, space)] = line.substr(space + 1);
    }
    if (values_.empty()) damaged(path, "cannot be read");
  }
  const std::string& text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) damaged(path_, "has no line that begins with \"" + name + "\"");
    return found->second;
  }
  int64_t size(const std::string& name) const {
    std::istringstream words(text(name));
    int64_t value = 0;
    if (!(words >> value) || value < 1 || value > 1 << 20)
      damaged(path_, "says \"" + name + " " + text(name) + "\", which is no size of a model");
    return value;
  }
  double error(const std::string& name) const {
    std::istringstream words(text(name));
    double value = 0;
    if (!(words >> value) || value <= 0)
      damaged(path_, "says \"" + name + " " + text(name) + "\", which is no error of logits");
    return value;
  }

 private:
  std::string path_;
  std::map<std::string, std::string> values_;
};

}  // namespace

Weights weights_at(const float* all, const Sizes& sizes) {
  const int64_t width = sizes.width;
  Pieces pieces = {all};
  Weights weights;
  weights.token = pieces.take(VOCABULARY * width);
  weights.position = pieces.take(sizes.context * width);
  for (int64_t i = 0; i < sizes.layers; ++i) {
    Layer layer;
    layer.norm1 = pieces.norm(width);
    layer.qkv = pieces.linear(width, 3 * width);
    layer.out = pieces.linear(width, width);
    layer.norm2 = pieces.norm(width);
    layer.up = pieces.linear(width, 4 * width);
    layer.down = pieces.linear(4 * width, width);
    weights.layers.push_back(layer);
  }
  weights.norm = pieces.norm(width);
  weights.head = {pieces.take(width * VOCABULARY), nullptr, width, VOCABULARY};
  return weights;
}

int64_t weight_count(const Sizes& sizes) {
  const int64_t width = sizes.width;
  const int64_t a_layer = 12 * width * width + 13 * width;
  return (2 * VOCABULARY + sizes.context) * width + sizes.layers * a_layer + 2 * width;
}

Stored read_model(const std::string& folder) {
  const std::string path = folder + "/weights.bin";
  const Said said(folder + "/weights.txt");
  Stored stored;
  stored.sizes = {.layers = said.size("layers"),
                  .width = said.size("width"),
                  .heads = said.size("heads"),
                  .context = said.size("context")};
  if (stored.sizes.width % stored.sizes.heads != 0)
    damaged(folder + "/weights.txt", "has a width that its heads do not divide");
  stored.logit_error = said.error("logit_error");
  stored.logit_error_bf16 = said.error("logit_error_bf16");

  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const int64_t count = weight_count(stored.sizes);
  if (static_cast<int64_t>(bytes.size()) != 2 * count)
    damaged(path, "has " + std::to_string(bytes.size()) + " bytes, and " +
                      std::to_string(2 * count) + " belong to the sizes in weights.txt");
  std::array<char, 9> checksum;
  std::snprintf(checksum.data(), checksum.size(), "%08x", crc32(bytes));
  if (said.text("crc32") != checksum.data())
    damaged(path, std::string("has the checksum ") + checksum.data() + " and not " +
                      said.text("crc32") + ", as weights.txt says");

  // bf16 is the upper half of a float.
  stored.values.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]);
    const auto high = static_cast<unsigned char>(bytes[2 * i + 1]);
    stored.values[i] = std::bit_cast<float>(uint32_t{high} << 24 | uint32_t{low} << 16);
  }
  return stored;
}

}  // namespace tutorial::flash_attention::model
