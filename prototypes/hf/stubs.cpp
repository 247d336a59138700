#include "06_flash_attention.hpp"
namespace tutorial::flash_attention {
#define S(n) void n(const Attention&, const float*, const float*, const float*, float*, float*, float*) {}
S(kv_outer) S(q_outer) S(register_tiles) S(two_buffers) S(less_work) S(read_ahead) S(spread_copies) S(outer_products) S(head_sizes) S(large_heads) S(own_keys) S(group_rows) S(split_keys) S(by_shape)
}
#include "tensor_cores/tensor_cores.hpp"
namespace tutorial::flash_attention::tensor_cores {
#define T(n) void n(const Attention&, const bf16*, const bf16*, const bf16*, bf16*, float*) {}
T(fragments) T(swizzled) T(waits_in_order) T(short_softmax) T(tall_tiles) T(masks_at_edges) T(one_barrier) T(lazy_rescale) T(head_sizes) T(any_address)
}
