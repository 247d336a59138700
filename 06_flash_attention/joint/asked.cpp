// What the steps ask global memory for.
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {

std::vector<Asked> two_products_ask(const float*, const float*, const float*, float*, float*,
                                    int64_t m, int64_t n, int64_t k) {
  const int64_t b = tile_for(k);
  return {
      {.kernel = "product_kernel",
       .loads = 4 * (m * k * ceil_div(n, b) + m * n * ceil_div(k, b) + 2 * k * n * ceil_div(m, b)),
       .stores = 4 * (m * n + m * k)}};
}

std::vector<Asked> joint_tiling_asks(const float*, const float*, const float*, float*, float*,
                                     int64_t m, int64_t n, int64_t k) {
  const int64_t b = tile_for(k);
  return {{.kernel = "joint_kernel",
           .loads = 4 * (ceil_div(k, b) * m * k + ceil_div(m, b) * (ceil_div(k, b) + 1) * k * n),
           .stores = 4 * m * k}};
}

}  // namespace tutorial::flash_attention::joint
