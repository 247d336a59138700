// Products by warpgroups of numbers of 8 bits, on the CPU: what common/backend/include/ptx_fp8.h is
// on a GPU.
#pragma once

#include <cuda_fp8.h>
#include <ptx_hopper.h>

namespace ptx {

template <int COUNT>
__forceinline__ void wgmma_m64k32_e4m3(float (&d)[COUNT], uint64_t a, uint64_t b, int add) {
  simulator::wgmma(d, 2 * COUNT, a, nullptr, b, add != 0, simulator::WgmmaType::e4m3, 0);
}
template <int COUNT>
__forceinline__ void wgmma_m64k32_e4m3(float (&d)[COUNT], const uint32_t (&a)[4], uint64_t b,
                                       int add) {
  simulator::wgmma(d, 2 * COUNT, 0, a, b, add != 0, simulator::WgmmaType::e4m3, 0);
}

}  // namespace ptx
