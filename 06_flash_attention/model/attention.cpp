#include "model/attention.hpp"

#include <memory>

#include "any_shape/any_shape.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// Attention on tensors without gaps.
using Contiguous = std::function<void(const Attention& shape, const float* q, const float* k,
                                      const float* v, float* out)>;

/// The first Tk rows of each head of the cache, one head behind the other.
void copy_heads(const Attention& shape, const DeviceBuffer<float>& from, int64_t capacity,
                DeviceBuffer<float>& to) {
  if (to.size() < from.size()) to = DeviceBuffer<float>(from.size());
  const int64_t row = shape.HS * int64_t{sizeof(float)};
  CUDA_CHECK(cudaMemcpy2DAsync(to.data(), shape.Tk * row, from.data(), capacity * row,
                               shape.Tk * row, shape.B * shape.NH, cudaMemcpyDeviceToDevice));
}

CachedAttention with_cache(std::string name, std::string idea, Gaps gaps, Contiguous run) {
  if (gaps == Gaps::launch_a_head)
    return {std::move(name), std::move(idea),
            [run](const Attention& shape, const float* q, const Cache& cache, float* out) {
              Attention head = shape;
              head.B = head.NH = head.NH_kv = 1;
              for (int64_t h = 0; h < shape.B * shape.NH; ++h) {
                const int64_t from = h * cache.capacity * shape.HS, of_q = h * shape.Tq * shape.HS;
                run(head, q + of_q, cache.k.data() + from, cache.v.data() + from, out + of_q);
              }
            }};
  struct Copies {
    DeviceBuffer<float> k, v;
  };
  return {std::move(name), std::move(idea),
          [run, copies = std::make_shared<Copies>()](const Attention& shape, const float* q,
                                                     const Cache& cache, float* out) {
            copy_heads(shape, cache.k, cache.capacity, copies->k);
            copy_heads(shape, cache.v, cache.capacity, copies->v);
            run(shape, q, copies->k.data(), copies->v.data(), out);
          }};
}

/// What launchers want besides, made larger where it is too small.
struct Scratch {
  DeviceBuffer<float> lse, scratch;
  DeviceBuffer<std::byte> workspace;

  void hold(const Attention& shape, int64_t bytes) {
    if (lse.size() < shape.rows()) {
      lse = DeviceBuffer<float>(shape.rows());
      scratch = DeviceBuffer<float>(shape.rows());
    }
    if (workspace.size() < bytes) workspace = DeviceBuffer<std::byte>(bytes);
  }
};

}  // namespace

std::vector<CachedAttention> cached_attentions(Gaps gaps) {
  const auto memory = std::make_shared<Scratch>();
  std::vector<CachedAttention> all;
  for (const auto& step : steps)
    all.push_back(
        with_cache(step.name, step.idea, gaps,
                   [memory, launch = step.launch](const Attention& shape, const float* q,
                                                  const float* k, const float* v, float* out) {
                     memory->hold(shape, 0);
                     launch(shape, q, k, v, out, memory->lse.data(), memory->scratch.data());
                   }));
  for (const auto& step : any_shape::steps)
    all.push_back(with_cache(
        "any_shape/" + std::string(step.name), step.idea, gaps,
        [memory, launch = step.launch](const Attention& shape, const float* q, const float* k,
                                       const float* v, float* out) {
          memory->hold(shape, any_shape::workspace_bytes(shape));
          launch(shape, q, k, v, out, memory->lse.data(), workspace_in(memory->workspace), nullptr);
        }));
  return all;
}

}  // namespace tutorial::flash_attention::model
