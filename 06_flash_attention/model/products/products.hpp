// The products of the model: chapter 01's kernel, and chapter 02's with its part any_shape, in
// float32; and its parts tensor_cores and few_rows, in bf16.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace tutorial::flash_attention::model {

/// C = A·B, A is (M, K), B is (K, N), C is float32: row-major in global memory.
template <class Number>
using LaunchProduct = std::function<void(const Number* A, const Number* B, float* C, int64_t M,
                                         int64_t N, int64_t K)>;
struct Product {
  std::string name, idea, needs;
  std::variant<LaunchProduct<float>, LaunchProduct<__nv_bfloat16>> launch;
  bool is_bf16() const { return launch.index() == 1; }
};

/// All that there are, from the simplest on.
std::vector<Product> products();

}  // namespace tutorial::flash_attention::model
