// Attention with a KV cache: the keys and values of all tokens so far, so that a new token brings
// its own only.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::flash_attention::model {

using bf16 = __nv_bfloat16;

/// k and v of a layer, (B, heads, capacity, head_size). The first tokens of each head are there.
template <class Number>
struct Cache {
  DeviceBuffer<Number> k, v;
  int64_t capacity = 0;
};

/// How most steps, whose keys have no gaps, come to the heads of a cache, which have: one launch
/// after all keys and values were copied, or one for each head. Those that take strides need
/// neither.
enum class Gaps { copy, launch_per_head };

/// out = attention(q, the first shape.Tk keys of the cache). q and out are (B, NH, Tq, HS).
template <class Number>
using LaunchAttention = std::function<void(const Attention& shape, const Number* q,
                                           const Cache<Number>& cache, Number* out)>;
struct CachedAttention {
  std::string name, idea, needs;
  std::variant<LaunchAttention<float>, LaunchAttention<bf16>> launch;
  bool is_bf16() const { return launch.index() == 1; }
};

/// Every step of chapter 06's road and of its part any_shape, in float32; and of the parts
/// tensor_cores and few_queries, in bf16.
std::vector<CachedAttention> cached_attentions(Gaps gaps);

}  // namespace tutorial::flash_attention::model
