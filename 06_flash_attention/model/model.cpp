// The forward pass: which kernel follows which.
#include "model/model.hpp"

#include "05_unfused_attention.hpp"
#include "common/data/narrow.hpp"
#include "common/kernel/error.hpp"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {

Model::Model(const Stored& stored, Choice choice, int64_t texts)
    : sizes_(stored.sizes), choice_(std::move(choice)), texts_(texts), values_(stored.values) {
  weights_ = weights_at(values_.data(), sizes_);
  const int64_t most = texts * sizes_.context, width = sizes_.width;  // rows
  if (choice_.attention.is_bf16()) heads_.emplace<Attended<bf16>>();
  std::visit(
      [&]<class Number>(Attended<Number>& heads) {
        heads.q = DeviceBuffer<Number>(most * width);
        heads.out = DeviceBuffer<Number>(most * width);
        for (int64_t i = 0; i < sizes_.layers; ++i)
          heads.caches.push_back({.k = DeviceBuffer<Number>(most * width),
                                  .v = DeviceBuffer<Number>(most * width),
                                  .capacity = sizes_.context});
      },
      heads_);
  if (choice_.product.is_bf16()) {
    rounded_values_ = DeviceBuffer<bf16>(narrowed<bf16>(stored.values));
    is_.rounded = DeviceBuffer<bf16>(most * 4 * width);
  }
  for (DeviceBuffer<float>* rows : {&is_.x, &is_.normed, &is_.attended, &is_.added})
    *rows = DeviceBuffer<float>(most * width);
  is_.qkv = DeviceBuffer<float>(most * 3 * width);
  is_.hidden = DeviceBuffer<float>(most * 4 * width);
  is_.logits = DeviceBuffer<float>(most * VOCABULARY);
  bytes_ = DeviceBuffer<Byte>(most);
}

void Model::multiply(const char* stage, const float* x, const Linear& by, float* y, int64_t rows,
                     const RunStage& run) {
  if (const auto* launch = std::get_if<LaunchProduct<float>>(&choice_.product.launch)) {
    run(stage, [&] { (*launch)(x, by.weight, y, rows, by.out, by.in); });
    return;
  }
  const auto& launch = std::get<LaunchProduct<bf16>>(choice_.product.launch);
  const bf16* const weight = rounded_values_.data() + (by.weight - values_.data());
  run("round to bf16", [&] { round_to_bf16(x, is_.rounded.data(), rows * by.in); });
  run(stage, [&] { launch(is_.rounded.data(), weight, y, rows, by.out, by.in); });
}

template <class Number>
void Model::attend(Attended<Number>& of, int64_t number, int64_t T, const RunStage& run) {
  const int64_t heads = sizes_.heads;
  Cache<Number>& cache = of.caches[number];
  const Heads shape = {.B = texts_,
                       .heads = heads,
                       .head_size = sizes_.head_size(),
                       .T = T,
                       .first = length_,
                       .capacity = cache.capacity};
  run("split heads", [&] {
    split_heads(shape, is_.qkv.data(), weights_.layers[number].qkv.bias, of.q.data(),
                cache.k.data(), cache.v.data());
  });
  run("attention", [&] {
    const Attention attention = {.B = texts_,
                                 .NH = heads,
                                 .NH_kv = heads,
                                 .Tq = T,
                                 .Tk = length_ + T,
                                 .HS = shape.head_size};
    std::get<LaunchAttention<Number>>(choice_.attention.launch)(attention, of.q.data(), cache,
                                                                of.out.data());
  });
  run("join heads", [&] {
    if constexpr (std::is_same_v<Number, bf16>)
      join_heads(shape, of.out.data(), is_.attended.data());
    else
      unfused_attention::unpermute({.B = texts_, .T = T, .C = sizes_.width, .NH = heads},
                                   of.out.data(), is_.attended.data());
  });
}

void Model::layer(int64_t number, int64_t T, const RunStage& run) {
  const Layer& with = weights_.layers[number];
  const int64_t width = sizes_.width, rows = texts_ * T;
  float* const x = is_.x.data();
  float* const normed = is_.normed.data();

  run("layer norm", [&] { layer_norm(x, with.norm1.gain, with.norm1.shift, normed, rows, width); });
  multiply("product qkv", normed, with.qkv, is_.qkv.data(), rows, run);
  std::visit([&](auto& heads) { attend(heads, number, T, run); }, heads_);
  multiply("product out", is_.attended.data(), with.out, is_.added.data(), rows, run);
  run("bias, sum", [&] { add_to(x, is_.added.data(), with.out.bias, rows, width); });

  run("layer norm", [&] { layer_norm(x, with.norm2.gain, with.norm2.shift, normed, rows, width); });
  multiply("product up", normed, with.up, is_.hidden.data(), rows, run);
  run("bias, GELU", [&] { bias_gelu(is_.hidden.data(), with.up.bias, rows, 4 * width); });
  multiply("product down", is_.hidden.data(), with.down, is_.added.data(), rows, run);
  run("bias, sum", [&] { add_to(x, is_.added.data(), with.down.bias, rows, width); });
}

double allowed_error(const Stored& stored, const Choice& choice) {
  return choice.is_bf16() ? ALLOWED_OF_PYTORCH_BF16 * stored.logit_error_bf16
                          : ALLOWED_OF_PYTORCH * stored.logit_error;
}

std::vector<float> Model::read(std::span<const Byte> bytes, bool all_logits, const RunStage& run) {
  const auto count = static_cast<int64_t>(bytes.size()), T = count / texts_;
  if (count % texts_ != 0) throw Error("all texts must get the same number of bytes");
  if (length_ + T > sizes_.context)
    throw Error("the text would have " + std::to_string(length_ + T) +
                " bytes, and this model reads at most " + std::to_string(sizes_.context) +
                ": give a shorter prompt, or ask for fewer tokens");
  if (T == 0) return {};
  CUDA_CHECK(cudaMemcpy(bytes_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  run("embedding", [&] {
    embed(bytes_.data(), weights_.token, weights_.position, is_.x.data(), texts_, T, length_,
          sizes_.width);
  });
  for (int64_t i = 0; i < sizes_.layers; ++i) layer(i, T, run);

  // One text's last row is the last of all; several texts' lie apart, and come with the others.
  const int64_t rows = all_logits || texts_ > 1 ? count : 1, from = count - rows;
  run("layer norm", [&] {
    layer_norm(is_.x.data() + from * sizes_.width, weights_.norm.gain, weights_.norm.shift,
               is_.normed.data(), rows, sizes_.width);
  });
  multiply("product logits", is_.normed.data(), weights_.head, is_.logits.data(), rows, run);
  length_ += T;

  std::vector<float> logits(static_cast<size_t>(rows * VOCABULARY));
  CUDA_CHECK(cudaMemcpy(logits.data(), is_.logits.data(), logits.size() * sizeof(float),
                        cudaMemcpyDeviceToHost));
  if (all_logits || rows == 1) return logits;
  std::vector<float> last;
  for (int64_t text = 1; text <= texts_; ++text) {
    const auto end = logits.begin() + text * T * VOCABULARY;
    last.insert(last.end(), end - VOCABULARY, end);
  }
  return last;
}

}  // namespace tutorial::flash_attention::model
