// Sizes from options and files, and the inputs' values.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "common/program/state.hpp"

namespace tutorial {

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

int64_t parse_whole(const std::string& option, const std::string& text, int64_t least,
                    int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  const std::string given = option + " \"" + text + "\" ";
  if (status == std::errc::invalid_argument || stop != end)
    throw Error(given + "is not a whole number; give one like 64");
  const bool overflow = status == std::errc::result_out_of_range;
  if (overflow ? text[0] == '-' : value < least)
    throw Error(given + "is too small; give " + std::to_string(least) + " or more");
  if (overflow || value > most)
    throw Error(given + "is too large; give at most " + std::to_string(most));
  return value;
}

double parse_number(const std::string& option, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || !std::isfinite(value))
    throw Error(option + " \"" + text + "\" is not a number; give one like 0.5");
  return value;
}

namespace {

std::string without_dashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

}  // namespace

std::string Chapter::State::extents_text(const Input& input) const {
  std::vector<std::string> words;
  for (const Extent& extent : input.extents)
    words.push_back((extent.times == 1 ? "" : std::to_string(extent.times) + "·") +
                    without_dashes(extent.option));
  return "(" + join(words) + ")";
}

std::string Chapter::State::sizes_text() const {
  std::string text;
  for (const SizeOption& size : sizes) {
    std::string word = without_dashes(size.option);
    if (word.size() == 1) word[0] = static_cast<char>(std::toupper(word[0]));
    text += (text.empty() ? "" : " ") + word + "=" + std::to_string(*size.value);
  }
  return text;
}

Input& Chapter::State::find_input(const std::string& input) {
  for (Input& candidate : inputs)
    if (candidate.name == input) return candidate;
  throw std::logic_error("the chapter has declared no input \"" + input + "\"");
}

SizeOption& Chapter::State::find_size(const std::string& option) {
  for (SizeOption& candidate : sizes)
    if (candidate.option == option) return candidate;
  throw std::logic_error("the chapter has declared no size " + option);
}

void Chapter::State::read_input(const std::string& assignment) {
  std::vector<std::string> known;
  for (const Input& input : inputs) known.push_back(input.name);
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw Error("--input \"" + assignment + "\" has no \"=\"; write name=file.npy, where name is " +
                join(known));
  const std::string input_name = assignment.substr(0, equals);
  const std::string path = assignment.substr(equals + 1);
  if (std::find(known.begin(), known.end(), input_name) == known.end())
    throw Error("there is no input \"" + input_name + "\" here; --input takes " + join(known));

  Input& input = find_input(input_name);
  if (input.from_file)
    throw Error("--input gives " + input_name + " more than once; leave one file");
  Tensor tensor = read_npy(path);
  const std::string file = path + " (" + shape_text(tensor.shape) + ")";
  const std::string expected = input_name + " must be " + extents_text(input);
  if (tensor.shape.size() != input.extents.size())
    throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const Extent& extent = input.extents[i];
    const int64_t length = tensor.shape[i];
    if (length % extent.times != 0)
      throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected + " and " +
                  std::to_string(length) + " is not a multiple of " + std::to_string(extent.times));
    SizeOption& size = find_size(extent.option);
    const int64_t value = length / extent.times;
    if (!size.source.empty() && value != *size.value)
      throw Error(file + " makes " + size.option + " " + std::to_string(value) + ", but " +
                  size.source + " makes it " + std::to_string(*size.value) + "; they must agree");
    *size.value = value;
    if (size.source.empty()) size.source = file;
  }
  input.take(std::move(tensor.values));
}

void Chapter::State::settle_sizes() {
  for (SizeOption& size : sizes)
    if (size.source.empty() && size.like.empty())
      *size.value = device_has_clock() ? size.usual.gpu : size.usual.cpu;
  for (SizeOption& size : sizes)  // after all that it may be like
    if (size.source.empty() && !size.like.empty()) *size.value = *find_size(size.like).value;
  uint64_t number = 0;
  for (Input& input : inputs) {
    input.init = init;
    input.seed = static_cast<uint64_t>(seed) + number++;  // so that A is unlike B
    for (const Extent& extent : input.extents)
      input.shape.push_back(extent.times * *find_size(extent.option).value);
    element_count(input.shape);  // throws where it overflows
  }
}

const std::vector<float>& Input::host() {
  if (!values_) values_ = make_values(shape, init, seed);
  return *values_;
}

const float* Input::device() {
  if (!copy_) copy_.emplace(host());
  return copy_->data();
}

void Chapter::State::require_memory(double scratch_bytes) const {
  double needed = scratch_bytes + 4.0 * static_cast<double>(element_count(output_shape));
  for (const Input& input : inputs)
    if (!input.is_on_device()) needed += 4.0 * static_cast<double>(element_count(input.shape));
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (needed > static_cast<double>(free))
    throw Error("this problem needs " + with_prefix(needed, "B") + " of device memory, and " +
                with_prefix(static_cast<double>(free), "B") + " are free; choose smaller sizes");
}

}  // namespace tutorial
