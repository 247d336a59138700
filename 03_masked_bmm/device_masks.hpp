// A mask on the device, for the program and the tests.
#pragma once

#include "03_masked_bmm.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::masked_bmm {

/// The element mask, and room for what is built from it.
struct DeviceMasks {
  DeviceBuffer<uint8_t> mask;
  DeviceBuffer<Kept> block_mask, thread_mask;

  /// Points `p`, whose sizes are known, at them. `offset`, for tests, moves all by so many
  /// elements.
  DeviceMasks(MaskedBmm& p, const Mask& host, int64_t offset = 0) {
    p.mask_per_batch = host.per_batch;
    const int64_t blocks = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
    const int64_t patches = p.masks() * ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
    mask = DeviceBuffer<uint8_t>(host.keep, offset);
    block_mask = DeviceBuffer<Kept>(blocks, offset);
    thread_mask = DeviceBuffer<Kept>(patches, offset);
    p.mask = mask.data();
    p.block_mask = block_mask.data();
    p.thread_mask = thread_mask.data();
  }
};

}  // namespace tutorial::masked_bmm
