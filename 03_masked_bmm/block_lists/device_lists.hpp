// A mask on the device and what is built from it, for the program and the tests; and its check.
#pragma once

#include "block_lists/block_lists.hpp"
#include "checks.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::masked_bmm::block_lists {

/// The element mask, and room for the words, the blocks' states and the list.
struct DeviceLists {
  DeviceBuffer<uint8_t> mask;
  DeviceBuffer<uint64_t> words;
  DeviceBuffer<Kept> states;
  DeviceBuffer<ListedBlock> list;

  /// Points `p`, whose sizes are known, at them. `offset`, for tests, moves all by so many
  /// elements.
  DeviceLists(ListedBmm& p, const Mask& host, int64_t offset = 0) {
    p.mask_per_batch = host.per_batch;
    const int64_t blocks = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
    const int64_t patches = p.masks() * ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
    mask = DeviceBuffer<uint8_t>(host.keep, offset);
    words = DeviceBuffer<uint64_t>(patches, offset);
    states = DeviceBuffer<Kept>(blocks, offset);
    list = DeviceBuffer<ListedBlock>(blocks, offset);
    p.mask = mask.data();
    p.mask_words = words.data();
    p.block_list = list.data();
  }
};

/// Checks the words, the blocks' states and the list. `seen` gets for each entry of these a 1 where
/// it is right, else a 0, and gives what is to count.
Comparison check_lists(const MaskedBmm& p, const Mask& mask, const DeviceLists& device,
                       const Seen& seen = std::identity());

}  // namespace tutorial::masked_bmm::block_lists
