#include "products.hpp"

#include <memory>

#include "01_naive_matmul.hpp"
#include "02_tiled_matmul.hpp"
#include "any_shape/any_shape.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::flash_attention::model {

std::vector<Product> products() {
  std::vector<Product> all;
  for (const auto& step : naive_matmul::steps) all.push_back({step.name, step.idea, step.launch});
  for (const auto& step : tiled_matmul::steps) all.push_back({step.name, step.idea, step.launch});
  for (const auto& step : tiled_matmul::any_shape::steps) {
    const auto memory = std::make_shared<DeviceBuffer<std::byte>>();
    all.push_back({"any_shape/" + std::string(step.name), step.idea,
                   [=, launch = step.launch](const float* A, const float* B, float* C, int64_t M,
                                             int64_t N, int64_t K) {
                     const tiled_matmul::faster::ScaledProduct product = {.M = M, .N = N, .K = K};
                     const int64_t bytes = tiled_matmul::any_shape::workspace_bytes(product, B);
                     if (bytes > memory->size()) *memory = DeviceBuffer<std::byte>(bytes);
                     launch(product, A, B, C, workspace_in(*memory), nullptr);
                   }});
  }
  return all;
}

}  // namespace tutorial::flash_attention::model
