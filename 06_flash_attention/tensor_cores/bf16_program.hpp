// What the programs of the parts tensor_cores and hopper share: attention in bf16.
#pragma once

#include <cstdint>
#include <string>

#include "attention_program.hpp"
#include "common/data/device_buffer.hpp"
#include "common/program/table.hpp"
#include "tensor_cores/in_layout.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// `own`, with the sizes that an Attention is made of, and the inputs q, k and v: of so many
/// queries where there is no GPU and the user does not say. And --layout and --lengths.
Usage with_bf16_attention(Usage own, int64_t queries_on_cpu);

/// The problem of these options, with its strides.
Attention bf16_attention_of(const Options& options);
/// What it needs of a step: STRIDES, LENGTHS, both or nothing.
unsigned needs_of(const Options& options);

/// Prints the problem, whose least work is both products of the visible pairs; q, k and v read, out
/// and lse written.
void announce_bf16(Table& table, const Attention& shape, const GivenLengths& lengths = {},
                   const std::string& layout = "bhtd");

/// The inputs rounded to bf16, on the device, and what is right for these numbers.
class RoundedInputs {
 public:
  RoundedInputs(const Attention& shape, const Options& options, const GivenLengths& lengths = {},
                const std::string& layout = "bhtd");
  Comparison compare(const Launched& row, const std::vector<float>& lse) const;

  const bf16 *q, *k, *v;
  Wanted want;

 private:
  DeviceBuffer<bf16> memory_[3];  // in a fused layout only one
};

/// What one does without strides: q, k and v are copied into (B, NH, T, HS), a step without strides
/// computes, and out is copied back.
class PermutedFirst {
 public:
  explicit PermutedFirst(const Attention& shape);
  /// step(shape without strides, q, k, v, out)
  template <class Step>
  void launch(const RoundedInputs& in, bf16* out, const Step& step) {
    permute(in.q, placed_q(shape_), q_.data(), placed_q(dense_).strides, nullptr);
    permute(in.k, placed_k(shape_), k_.data(), placed_k(dense_).strides, nullptr);
    permute(in.v, placed_v(shape_), v_.data(), placed_v(dense_).strides, nullptr);
    step(dense_, q_.data(), k_.data(), v_.data(), out_.data());
    permute(out_.data(), placed_out(dense_), out, placed_out(shape_).strides, nullptr);
  }

 private:
  Attention shape_, dense_;
  DeviceBuffer<bf16> q_, k_, v_, out_;
};

}  // namespace tutorial::flash_attention::tensor_cores
