// Attention with a KV cache: the keys and values of all tokens so far, so that a new token brings
// its own only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::flash_attention::model {

/// k and v of a layer, (B, heads, capacity, head_size). The first tokens of each head are there.
struct Cache {
  DeviceBuffer<float> k, v;
  int64_t capacity = 0;
};

/// How the steps, whose keys have no gaps, come to the heads of a cache, which have: a launch for
/// each head, or one after all keys and values were copied.
enum class Gaps { launch_a_head, copy };

/// out = attention(q, the first shape.Tk keys of the cache). q and out are (B, NH, Tq, HS).
struct CachedAttention {
  std::string name, idea;
  std::function<void(const Attention& shape, const float* q, const Cache& cache, float* out)>
      launch;
};

/// Every step of chapter 06's road and of its part any_shape.
std::vector<CachedAttention> cached_attentions(Gaps gaps);

}  // namespace tutorial::flash_attention::model
