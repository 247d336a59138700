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

Options::Size& find_size(Options& options, const std::string& option) {
  for (size_t i = 0; i < options.sizes.size(); ++i)
    if (options.usage.sizes[i].option == option) return options.sizes[i];
  throw std::logic_error("the program takes no size " + option);
}

}  // namespace

std::string extents_text(const std::vector<Extent>& extents) {
  std::vector<std::string> words;
  for (const Extent& extent : extents)
    words.push_back((extent.times == 1 ? "" : std::to_string(extent.times) + "·") +
                    without_dashes(extent.option));
  return "(" + join(words) + ")";
}

void read_input(Options& options, const std::string& assignment) {
  std::vector<std::string> known;
  for (const auto& input : options.inputs) known.push_back(input->name());
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw Error("--input \"" + assignment + "\" has no \"=\"; write name=file.npy, where name is " +
                join(known));
  const std::string input_name = assignment.substr(0, equals);
  const std::string path = assignment.substr(equals + 1);
  const auto found = std::ranges::find(known, input_name);
  if (found == known.end())
    throw Error("there is no input \"" + input_name + "\" here; " +
                did_you_mean(input_name, known) + "--input takes " + join(known));
  if (path.empty())
    throw Error("--input \"" + assignment + "\" names no file; write " + assignment + "file.npy");

  Input& input = *options.inputs[found - known.begin()];
  if (input.is_from_file())
    throw Error("--input gives " + input_name + " more than once; leave one file");
  Tensor tensor = read_npy(path);
  const std::string file = path + " (" + shape_text(tensor.shape) + ")";
  const std::string expected = input_name + " must be " + extents_text(input.extents());
  if (tensor.shape.size() != input.extents().size())
    throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const Extent& extent = input.extents()[i];
    const int64_t length = tensor.shape[i];
    if (length % extent.times != 0)
      throw Error(path + " has shape " + shape_text(tensor.shape) + ", but " + expected + " and " +
                  std::to_string(length) + " is not a multiple of " + std::to_string(extent.times));
    Options::Size& size = find_size(options, extent.option);
    const int64_t value = length / extent.times;
    if (!size.source.empty() && value != size.value)
      throw Error(file + " makes " + extent.option + " " + std::to_string(value) + ", but " +
                  size.source + " makes it " + std::to_string(size.value) + "; they must agree");
    size.value = value;
    if (size.source.empty()) size.source = file;
  }
  input.take(std::move(tensor.values));
}

void settle_sizes(Options& options) {
  for (size_t i = 0; i < options.sizes.size(); ++i) {
    const SizeOption& declared = options.usage.sizes[i];
    if (options.sizes[i].source.empty() && declared.like.empty())
      options.sizes[i].value = device_has_clock() ? declared.usual.gpu : declared.usual.cpu;
  }
  for (size_t i = 0; i < options.sizes.size(); ++i) {  // after all that it may be like
    const std::string& like = options.usage.sizes[i].like;
    if (options.sizes[i].source.empty() && !like.empty())
      options.sizes[i].value = find_size(options, like).value;
  }
  uint64_t seed = options.seed();
  for (const auto& input : options.inputs) {
    std::vector<int64_t> shape;
    for (const Extent& extent : input->extents())
      shape.push_back(extent.times * find_size(options, extent.option).value);
    element_count(shape);  // throws where it overflows
    input->settle(std::move(shape), options.run.init,
                  seed++);  // another seed for each: A is unlike B
  }
}

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

void require_memory(const Options& options, const std::vector<int64_t>& output_shape,
                    double scratch_bytes) {
  double needed = scratch_bytes + 4.0 * static_cast<double>(element_count(output_shape));
  for (const auto& input : options.inputs)
    if (!input->is_on_device()) needed += 4.0 * static_cast<double>(element_count(input->shape()));
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (needed > static_cast<double>(free))
    throw Error("this problem needs " + with_prefix(needed, "B") + " of global memory, and " +
                with_prefix(static_cast<double>(free), "B") + " are free; choose smaller sizes");
}

}  // namespace tutorial
