// Copies without a tensor map, on the CPU: what common/backend/include/ptx_bulk.h is on a GPU.
#pragma once

#include <ptx_hopper.h>

namespace simulator {
void bulk_store_or_add(bool add, float* to, const float* from, int count);
}

namespace ptx {

__forceinline__ void bulk_store(float* to, const float* from, int count) {
  simulator::bulk_store_or_add(false, to, from, count);
}
__forceinline__ void bulk_add(float* to, const float* from, int count) {
  simulator::bulk_store_or_add(true, to, from, count);
}

}  // namespace ptx
