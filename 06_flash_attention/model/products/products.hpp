// The products of the model: chapter 01's kernel, and chapter 02's with its part any_shape.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tutorial::flash_attention::model {

/// C = A·B, A is (M, K), B is (K, N): row-major float32 in global memory.
struct Product {
  std::string name, idea;
  std::function<void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K)>
      launch;
};

/// All that there are, from the simplest on.
std::vector<Product> products();

}  // namespace tutorial::flash_attention::model
