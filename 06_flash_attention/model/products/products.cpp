#include "products.hpp"

#include <memory>

#include "01_naive_matmul.hpp"
#include "02_tiled_matmul.hpp"
#include "any_shape/any_shape.hpp"
#include "common/data/device_buffer.hpp"
#include "few_rows/few_rows.hpp"

namespace tutorial::flash_attention::model {
namespace {

using Memory = DeviceBuffer<std::byte>;
using tiled_matmul::few_rows::bf16;

Workspace at_least(int64_t bytes, Memory& memory) {
  if (bytes > memory.size()) memory = Memory(bytes);
  return workspace_in(memory);
}

/// A part's steps, in bf16.
template <class Steps, class Bytes>
void add_bf16(std::vector<Product>& all, const std::string& part, const Steps& steps,
              Bytes workspace_bytes, std::shared_ptr<Memory> memory) {
  for (const auto& step : steps) {
    const LaunchProduct<bf16> launch = [=, of_step = step.launch](const bf16* A, const bf16* B,
                                                                  float* C, int64_t M, int64_t N,
                                                                  int64_t K) {
      const tiled_matmul::few_rows::Bf16Product product = {.M = M, .N = N, .K = K};
      of_step(product, A, B, C, at_least(workspace_bytes(product, A, B), *memory), nullptr);
    };
    all.push_back({part + step.name, step.idea, step.needs, launch});
  }
}

}  // namespace

std::vector<Product> products() {
  const auto memory = std::make_shared<Memory>();
  std::vector<Product> all;
  const auto add = [&](const auto& steps) {
    for (const auto& step : steps)
      all.push_back({step.name, step.idea, step.needs, LaunchProduct<float>(step.launch)});
  };
  add(naive_matmul::steps);
  add(tiled_matmul::steps);
  for (const auto& step : tiled_matmul::any_shape::steps) {
    const LaunchProduct<float> launch = [memory, of_step = step.launch](
                                            const float* A, const float* B, float* C, int64_t M,
                                            int64_t N, int64_t K) {
      const tiled_matmul::faster::ScaledProduct product = {.M = M, .N = N, .K = K};
      const int64_t bytes = tiled_matmul::any_shape::workspace_bytes(product, B);
      of_step(product, A, B, C, at_least(bytes, *memory), nullptr);
    };
    all.push_back({"any_shape/" + std::string(step.name), step.idea, step.needs, launch});
  }
  add_bf16(all, "tensor_cores/", tiled_matmul::tensor_cores::steps,
           tiled_matmul::tensor_cores::workspace_bytes, memory);
  add_bf16(all, "few_rows/", tiled_matmul::few_rows::steps, tiled_matmul::few_rows::workspace_bytes,
           memory);
  return all;
}

}  // namespace tutorial::flash_attention::model
