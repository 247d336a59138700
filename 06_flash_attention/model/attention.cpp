#include "model/attention.hpp"

#include <memory>

#include "any_shape/any_shape.hpp"
#include "few_queries/few_queries.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::model {
namespace {

/// Attention as the chapter's steps have it. Only a step that takes strides is given some.
template <class Number>
using Launch = std::function<void(const Attention& shape, const Number* q, const Number* k,
                                  const Number* v, Number* out)>;

/// The first Tk rows of each head of the cache, one head behind the other.
template <class Number>
void copy_heads(const Attention& shape, const DeviceBuffer<Number>& from, int64_t capacity,
                DeviceBuffer<Number>& to) {
  if (to.size() < from.size()) to = DeviceBuffer<Number>(from.size());
  const int64_t row = shape.HS * int64_t{sizeof(Number)};
  CUDA_CHECK(cudaMemcpy2DAsync(to.data(), shape.Tk * row, from.data(), capacity * row,
                               shape.Tk * row, shape.B * shape.NH, cudaMemcpyDeviceToDevice));
}

template <class Number>
LaunchAttention<Number> launch_per_head(Launch<Number> run) {
  return [run](const Attention& shape, const Number* q, const Cache<Number>& cache, Number* out) {
    Attention head = shape;
    head.B = head.NH = head.NH_kv = 1;
    for (int64_t h = 0; h < shape.B * shape.NH; ++h) {
      const int64_t from = h * cache.capacity * shape.HS, of_q = h * shape.Tq * shape.HS;
      run(head, q + of_q, cache.k.data() + from, cache.v.data() + from, out + of_q);
    }
  };
}

template <class Number>
LaunchAttention<Number> launch_on_copies(Launch<Number> run) {
  struct Copies {
    DeviceBuffer<Number> k, v;
  };
  return [run, copies = std::make_shared<Copies>()](const Attention& shape, const Number* q,
                                                    const Cache<Number>& cache, Number* out) {
    copy_heads(shape, cache.k, cache.capacity, copies->k);
    copy_heads(shape, cache.v, cache.capacity, copies->v);
    run(shape, q, copies->k.data(), copies->v.data(), out);
  };
}

template <class Number>
LaunchAttention<Number> launch_with_strides(Launch<Number> run) {
  return [run](const Attention& shape, const Number* q, const Cache<Number>& cache, Number* out) {
    const int64_t head = cache.capacity * shape.HS;
    Attention in_cache = shape;
    in_cache.strides.k = {.batch = shape.NH * head, .head = head, .token = shape.HS};
    in_cache.strides.v = in_cache.strides.k;
    run(in_cache, q, cache.k.data(), cache.v.data(), out);
  };
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

/// A part's steps: run(launch, shape, q, k, v, out) calls one of them.
template <class Number, class Steps, class Run>
void add(std::vector<CachedAttention>& all, const std::string& part, const Steps& steps, Gaps gaps,
         const Run& run) {
  for (const auto& step : steps) {
    const Launch<Number> launch = [run, of_step = step.launch](const Attention& shape, auto... to) {
      run(of_step, shape, to...);
    };
    all.push_back({.name = part + step.name,
                   .idea = step.idea,
                   .needs = step.needs,
                   .launch = (step.features & STRIDES) != 0 ? launch_with_strides(launch)
                             : gaps == Gaps::copy           ? launch_on_copies(launch)
                                                            : launch_per_head(launch)});
  }
}

}  // namespace

std::vector<CachedAttention> cached_attentions(Gaps gaps) {
  const auto memory = std::make_shared<Scratch>();
  std::vector<CachedAttention> all;
  add<float>(all, "", steps, gaps, [memory](auto launch, const Attention& shape, auto... tensors) {
    memory->hold(shape, 0);
    launch(shape, tensors..., memory->lse.data(), memory->scratch.data());
  });
  add<float>(all, "any_shape/", any_shape::steps, gaps,
             [memory](auto launch, const Attention& shape, auto... tensors) {
               memory->hold(shape, any_shape::workspace_bytes(shape));
               launch(shape, tensors..., memory->lse.data(), workspace_in(memory->workspace),
                      nullptr);
             });
  add<bf16>(all, "tensor_cores/", tensor_cores::steps, gaps,
            [memory](auto launch, const Attention& shape, auto... tensors) {
              memory->hold(shape, 0);
              launch(shape, tensors..., memory->lse.data(), nullptr);
            });
  add<bf16>(all, "few_queries/", few_queries::steps, gaps,
            [memory](auto launch, const Attention& shape, auto... tensors) {
              memory->hold(shape, few_queries::workspace_bytes(shape));
              launch(shape, tensors..., memory->lse.data(), workspace_in(memory->workspace),
                     nullptr);
            });
  return all;
}

}  // namespace tutorial::flash_attention::model
