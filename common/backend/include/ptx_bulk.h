// Copies without a tensor map, on a GPU: inline PTX, as in ptx_hopper.h. Kernels use the words of
// common/kernel/bulk.cuh.
#pragma once

#include <ptx_hopper.h>

namespace ptx {

__device__ inline void bulk_store(float* to, const float* from, int count) {
  PTX_HOPPER("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
             "r"(shared_address(from)), "r"(count * 4)
             : "memory");
}
__device__ inline void bulk_add(float* to, const float* from, int count) {
  PTX_HOPPER("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
             "r"(shared_address(from)), "r"(count * 4)
             : "memory");
}

}  // namespace ptx
