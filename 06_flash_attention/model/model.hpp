// Part model of chapter 06: a small language model, a GPT, that runs on the kernels of this
// tutorial. It reads bytes and gives, for each, a number for every byte that could come next: the
// logits. The largest one's byte is written, and read in turn.
//
//   x = token[byte] + position[t]                                  embedding
//   in each layer:
//     q, k, v = norm1(x)·Wqkv + b                                  a product of chapter 02
//     x += attention(q, all k so far, all v so far)·Wout + b       attention of chapter 06
//     x += gelu(norm2(x)·Wup + b)·Wdown + b
//   logits = norm(x)·Whead
//
// x has a row of `width` numbers for each byte. The architecture is GPT-2's (Radford et al., 2019).
// Everything is row-major, without gaps, in global memory, and float32. Where the chosen product or
// attention takes bf16, what goes into it is rounded; weights.bin has such numbers from the start.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "model/attention.hpp"
#include "model/products/products.hpp"

namespace tutorial::flash_attention::model {

using Byte = unsigned char;

inline constexpr int64_t VOCABULARY = 256;  // any byte

/// width is heads·head_size(); the text has at most `context` bytes.
struct Sizes {
  int64_t layers = 0, width = 0, heads = 0, context = 0;
  int64_t head_size() const { return width / heads; }
};

// ---- the weights

/// y = x·weight + bias, weight is (in, out). A nullptr for no bias.
struct Linear {
  const float *weight = nullptr, *bias = nullptr;
  int64_t in = 0, out = 0;
};
/// A layer norm's factors and what it adds, `width` of each.
struct Norm {
  const float *gain = nullptr, *shift = nullptr;
};
struct Layer {
  Norm norm1;
  Linear qkv, out;
  Norm norm2;
  Linear up, down;  // to 4·width and back
};
struct Weights {
  const float *token = nullptr, *position = nullptr;  // (256, width), (context, width)
  std::vector<Layer> layers;
  Norm norm;
  Linear head;  // to 256 logits
};

/// Where each weight lies in an array that has them all in the order of weights.bin.
Weights weights_at(const float* all, const Sizes& sizes);
/// How many there are.
int64_t weight_count(const Sizes& sizes);

/// A model as train.py leaves it: weights.bin has bf16 numbers, weights.txt says the rest.
struct Stored {
  Sizes sizes;
  std::vector<float> values;
  // PyTorch's own: the farthest of its logits from the true ones, in fp32, and where products and
  // attention take bf16 (torch.autocast).
  double logit_error = 0, logit_error_bf16 = 0;
};
/// Throws Error where the files are missing, damaged, or do not belong together.
Stored read_model(const std::string& folder);

// ---- the forward pass

/// Which kernels do the work.
struct Choice {
  Product product;
  CachedAttention attention;
  bool is_bf16() const { return product.is_bf16() || attention.is_bf16(); }
};
/// Logits may be so many times as far from the true ones as PyTorch's own are: in fp32, and with
/// products or attention in bf16.
inline constexpr double ALLOWED_OF_PYTORCH = 4, ALLOWED_OF_PYTORCH_BF16 = 2;
/// How far they may be.
double allowed_error(const Stored& stored, const Choice& choice);

/// Runs a stage's launches: `stage` is its name in the table. A program that measures gives another
/// one.
using RunStage = std::function<void(const char* stage, const std::function<void()>& launch)>;
inline void run_at_once(const char*, const std::function<void()>& launch) {
  launch();
}

class Model {
 public:
  /// For so many texts at a time, which are equally long. Throws Error when the device has too
  /// little memory.
  Model(const Stored& stored, Choice choice, int64_t texts = 1);

  /// Reads `bytes`, (texts, T), which come after those that it has read; their keys and values stay
  /// in the cache. Gives the logits after each of them, (texts, T, 256), or only after each text's
  /// last: (texts, 1, 256). Throws Error where a text would get longer than the context.
  std::vector<float> read(std::span<const Byte> bytes, bool all_logits = false,
                          const RunStage& run = run_at_once);
  /// How many bytes of each text it has read.
  int64_t length() const { return length_; }
  /// Forgets them.
  void forget() { length_ = 0; }

 private:
  // What the stages leave. T is the number of bytes of the last read(), of each text.
  struct Activations {
    DeviceBuffer<float> x, normed;        // (texts, T, width)
    DeviceBuffer<float> qkv;              // (texts, T, 3·width)
    DeviceBuffer<float> attended, added;  // (texts, T, width): what comes to x is `added`
    DeviceBuffer<float> hidden;           // (texts, T, 4·width)
    DeviceBuffer<float> logits;           // (texts, T, 256)
    DeviceBuffer<bf16> rounded;           // what a product in bf16 reads
  };
  // What attention reads and writes.
  template <class Number>
  struct Attended {
    DeviceBuffer<Number> q, out;        // (texts, heads, T, head_size)
    std::vector<Cache<Number>> caches;  // of each layer
  };

  void layer(int64_t number, int64_t T, const RunStage& run);
  template <class Number>
  void attend(Attended<Number>& heads, int64_t number, int64_t T, const RunStage& run);
  void multiply(const char* stage, const float* x, const Linear& by, float* y, int64_t rows,
                const RunStage& run);

  Sizes sizes_;
  Choice choice_;
  int64_t texts_;
  DeviceBuffer<float> values_;
  Weights weights_;
  DeviceBuffer<bf16> rounded_values_;  // for a product in bf16
  Activations is_;
  std::variant<Attended<float>, Attended<bf16>> heads_;
  DeviceBuffer<Byte> bytes_;
  int64_t length_ = 0;
};

// ---- writing

/// The byte with the largest logit, and how far the next one is behind.
struct Best {
  Byte byte;
  float lead;
};
Best best_of(std::span<const float> logits);

/// Draws a byte by its probability, softmax(logits / temperature): chapter 04's kernel. `part` is
/// a random number in [0, 1).
Byte drawn(std::span<const float> logits, double temperature, double part);

// ---- the reference

/// The logits after each byte in double, (bytes, 256), by the formulas above.
std::vector<double> reference_logits(const Stored& stored, std::span<const Byte> bytes);

}  // namespace tutorial::flash_attention::model
