#include "tensor_cores/launch.hpp"

#include <algorithm>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::tensor_cores {

bool all_aligned(const void* q, const void* k, const void* v, const void* out) {
  for (const void* tensor : {q, k, v, out})
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return false;
  return true;
}

void require_whole_chunks(const Attention& shape, const char* type) {
  if (shape.HS % 8 != 0)
    throw Error("head size " + std::to_string(shape.HS) + " is no multiple of 8, so rows of " +
                type +
                " are no multiple of 16 bytes; take one that is, or ./learn run "
                "06/any_shape, in fp32.");
}

void require_bf16(const Attention& shape, const char* step, unsigned takes) {
  require_valid(shape, takes);
  if (compute_capability() < 80)
    throw Error(std::string(step) +
                " needs tensor cores that take bf16, of compute capability 8.0 or newer; take "
                "./learn run 06/fp16.");
}

void require_head_size(const Attention& shape, const char* step, int64_t largest, unsigned takes) {
  require_bf16(shape, step, takes);
  require_whole_chunks(shape, "bf16");
  if (shape.HS > largest)
    throw Error(
        "head size " + std::to_string(shape.HS) + " is too large for " + step +
        ", which keeps O in registers and takes at most " + std::to_string(largest) +
        (largest < 256 ? "; take --kernel head_sizes." : "; take ./learn run 06, in fp32."));
}

void require_supported(const Attention& shape, const char* step, int64_t largest, const bf16* q,
                       const bf16* k, const bf16* v, const bf16* out) {
  require_head_size(shape, step, largest);
  if (!all_aligned(q, k, v, out))
    throw Error(std::string(step) +
                " copies 16 bytes at a time, and q, k, v or out does not begin at a multiple of 16 "
                "bytes; take --kernel any_address.");
}

Attention with_strides(Attention shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  const auto complete = [&](Strides& of, int64_t heads, int64_t T) {
    if (of.token == 0) of = {.batch = heads * T * HS, .head = T * HS, .token = HS};
    if (B <= 1) of.batch = HS;
    if (heads <= 1) of.head = HS;
    if (T <= 1) of.token = HS;
    for (const int64_t stride : {of.batch, of.head, of.token})
      if (stride < 0)
        throw Error("a stride is " + std::to_string(stride) +
                    "; take 0 or more, from a tensor's first element on.");
  };
  complete(shape.strides.q, NH, Tq);
  complete(shape.strides.k, NH_kv, Tk);
  complete(shape.strides.v, NH_kv, Tk);
  complete(shape.strides.out, NH, Tq);
  const Strides& of_out = shape.strides.out;
  if (shape.rows() > 1 && std::min({of_out.batch, of_out.head, of_out.token}) < HS)
    throw Error(
        "rows of out lie " + std::to_string(std::min({of_out.batch, of_out.head, of_out.token})) +
        " apart and overlap; take a stride of at least the head size, " + std::to_string(HS) + ".");
  return shape;
}

bool all_rows_aligned(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      const bf16* out) {
  const auto& [of_q, of_k, of_v, of_out] = shape.strides;
  for (const Strides& of : {of_q, of_k, of_v, of_out})
    if (of.batch % 8 != 0 || of.head % 8 != 0 || of.token % 8 != 0) return false;
  return all_aligned(q, k, v, out);
}

}  // namespace tutorial::flash_attention::tensor_cores
