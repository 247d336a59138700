// What the programs of the parts tensor_cores and hopper share: attention in bf16.
#pragma once

#include <cstdint>

#include "attention_program.hpp"
#include "common/data/device_buffer.hpp"
#include "common/program/table.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// `own`, with the sizes that an Attention is made of, and the inputs q, k and v: of so many
/// queries where there is no GPU and the user does not say.
Usage with_bf16_attention(Usage own, int64_t queries_on_cpu);

/// Prints the problem, whose least work is both products of the visible pairs; q, k and v read, out
/// and lse written.
void announce_bf16(Table& table, const Attention& shape);

/// The inputs rounded to bf16, on the device, and what is right for these numbers.
struct RoundedInputs {
  RoundedInputs(const Attention& shape, const Options& options);

  DeviceBuffer<bf16> q, k, v;
  Wanted want;
};

}  // namespace tutorial::flash_attention::tensor_cores
