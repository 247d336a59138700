#include "common/program/inputs.hpp"

#include <algorithm>
#include <stdexcept>

#include "common/backend/backend.hpp"
#include "common/data/npy.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/options.hpp"

namespace tutorial {
namespace {

SizeOption& find_size(Declared& declared, const std::string& option) {
  for (SizeOption& candidate : declared.sizes)
    if (candidate.option == option) return candidate;
  throw std::logic_error("the chapter has declared no size " + option);
}

}  // namespace

std::string extents_text(const Input& input) {
  std::vector<std::string> words;
  for (const Extent& extent : input.extents())
    words.push_back((extent.times == 1 ? "" : std::to_string(extent.times) + "·") +
                    without_dashes(extent.option));
  return "(" + join(words) + ")";
}

void read_input(Declared& declared, const std::string& assignment) {
  std::vector<std::string> known;
  for (const Input& input : declared.inputs) known.push_back(input.name());
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw Error("--input \"" + assignment + "\" has no \"=\"; write name=file.npy, where name is " +
                join(known));
  const std::string input_name = assignment.substr(0, equals);
  const std::string path = assignment.substr(equals + 1);
  const auto found =
      std::find_if(declared.inputs.begin(), declared.inputs.end(),
                   [&](const Input& candidate) { return candidate.name() == input_name; });
  if (found == declared.inputs.end())
    throw Error("there is no input \"" + input_name + "\" here; " +
                did_you_mean(input_name, known) + "--input takes " + join(known));
  if (path.empty())
    throw Error("--input \"" + assignment + "\" names no file; write " + assignment + "file.npy");

  Input& input = *found;
  if (input.is_from_file())
    throw Error("--input gives " + input_name + " more than once; leave one file");
  Tensor tensor = read_npy(path);
  const std::string file = path + " (" + shape_text(tensor.shape) + ")";
  const std::string expected = input_name + " must be " + extents_text(input);
  if (tensor.shape.size() != input.extents().size())
    throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const Extent& extent = input.extents()[i];
    const int64_t length = tensor.shape[i];
    if (length % extent.times != 0)
      throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected + " and " +
                  std::to_string(length) + " is not a multiple of " + std::to_string(extent.times));
    SizeOption& size = find_size(declared, extent.option);
    const int64_t value = length / extent.times;
    if (!size.source.empty() && value != *size.value)
      throw Error(file + " makes " + size.option + " " + std::to_string(value) + ", but " +
                  size.source + " makes it " + std::to_string(*size.value) + "; they must agree");
    *size.value = value;
    if (size.source.empty()) size.source = file;
  }
  input.take(std::move(tensor.values));
}

void settle_sizes(Declared& declared, Init init, uint64_t seed) {
  for (SizeOption& size : declared.sizes)
    if (size.source.empty() && size.like.empty())
      *size.value = device_has_clock() ? size.usual.gpu : size.usual.cpu;
  for (SizeOption& size : declared.sizes)  // after all that it may be like
    if (size.source.empty() && !size.like.empty())
      *size.value = *find_size(declared, size.like).value;
  for (Input& input : declared.inputs) {
    std::vector<int64_t> shape;
    for (const Extent& extent : input.extents())
      shape.push_back(extent.times * *find_size(declared, extent.option).value);
    element_count(shape);                          // throws where it overflows
    input.settle(std::move(shape), init, seed++);  // another seed for each: A is unlike B
  }
}

Input::Input(std::string name, std::vector<Extent> extents, std::string help)
    : name_(std::move(name)), help_(std::move(help)), extents_(std::move(extents)) {}

void Input::take(std::vector<float> values) {
  values_ = std::move(values);
  is_from_file_ = true;
}

void Input::settle(std::vector<int64_t> shape, Init init, uint64_t seed) {
  shape_ = std::move(shape);
  init_ = init;
  seed_ = seed;
}

const std::vector<float>& Input::host() {
  if (!values_) values_ = make_values(shape_, init_, seed_);
  return *values_;
}

const float* Input::device() {
  if (!copy_) copy_.emplace(host());
  return copy_->data();
}

void require_memory(const Declared& declared, const std::vector<int64_t>& output_shape,
                    double scratch_bytes) {
  double needed = scratch_bytes + 4.0 * static_cast<double>(element_count(output_shape));
  for (const Input& input : declared.inputs)
    if (!input.is_on_device()) needed += 4.0 * static_cast<double>(element_count(input.shape()));
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (needed > static_cast<double>(free))
    throw Error("this problem needs " + with_prefix(needed, "B") + " of global memory, and " +
                with_prefix(static_cast<double>(free), "B") + " are free; choose smaller sizes");
}

}  // namespace tutorial
