#include "common/simulator/device/running_block.hpp"

#include <algorithm>

#include "common/simulator/device/names.hpp"
#include "common/simulator/device/report.hpp"
#include "device_functions.h"

namespace simulator {

constinit thread_local std::atomic<bool> heed = false;
constinit thread_local RunningBlock* the_block = nullptr;
constinit thread_local RunningBlock* kernel_block = nullptr;

// ---- Words for reports

uint32_t RunningBlock::block_number() const {
  const dim3& grid = grid_->launch.grid;
  return block_.x + grid.x * (block_.y + grid.y * block_.z);
}
std::string RunningBlock::block_text() const {
  return "block " + triple(block_);
}

std::string RunningBlock::place(uint32_t thread, uint32_t block) const {
  return place_in_grid(grid_->launch.grid, grid_->launch.block, block, thread);
}
std::string RunningBlock::place_of_running_thread() const {
  return "block " + triple(blockIdx) + " thread " + triple(threadIdx);
}

std::string RunningBlock::where_is(int thread) const {
  const dim3& size = grid_->launch.block;
  const unsigned index = static_cast<unsigned>(thread);
  const uint3 in_block = {index % size.x, index / size.x % size.y, index / (size.x * size.y)};
  return std::string(grid_->launch.kernel) + ", " + block_text() + " thread " + triple(in_block);
}

std::string RunningBlock::shared_name(uintptr_t address) const {
  const std::string start = "shared memory ";
  if (const RunningBlock* owner = owner_in_cluster(address))
    return shared_name(own_address(address, *owner)) + " of " + owner->block_text();
  if (address - dynamic_begin_ < kSharedPerBlockOptin) {
    const size_t byte = address - dynamic_begin_;
    if (dynamic_name_ != nullptr) return start + element_name(dynamic_name_, dynamic_shape_, byte);
    if (dynamic_name_of_file_ != nullptr)
      return start + element_name(dynamic_name_of_file_, dynamic_shape_of_file_, byte);
    return start + "byte " + std::to_string(byte) + " of the dynamic part";
  }
  for (const DeclaredArray& array : declared_)
    if (address - array.begin < array.bytes)
      return start + element_name(array.name, *array.shape, address - array.begin);
  const int16_t owner = shared_owners()[address - static_begin_];
  if (owner < 0) return "shared memory";
  const SharedArray& array = shared_arrays()[static_cast<size_t>(owner)];
  const size_t byte = address - static_begin_ - (array.offset - shared_begin());
  return start + short_name(array.symbol) + ", byte " + std::to_string(byte) + " of " +
         std::to_string(array.bytes);
}

std::string RunningBlock::near_shared_array(uintptr_t address) const {
  const DeclaredArray* nearest = nullptr;
  size_t distance = SIZE_MAX;
  for (const DeclaredArray& array : declared_) {
    const uintptr_t end = array.begin + array.bytes;
    const size_t here =
        address < array.begin ? array.begin - address : address - std::min(end, address);
    if (here < distance) nearest = &array, distance = here;
  }
  std::string text = "  outside every __shared__ array of the kernel";
  if (nearest != nullptr)
    text += ": " + std::to_string(distance) + " bytes " +
            (address < nearest->begin ? "before the start of " : "past the end of ") +
            nearest->name + " (" + std::to_string(nearest->bytes) + " bytes)";
  return text + "\n  likely: a pointer into an array is moved too far\n";
}

// ---- In its cluster

RunningBlock* RunningBlock::owner_in_cluster(uintptr_t address) const {
  if (is_alone()) return nullptr;
  for (RunningBlock* block : *cluster_blocks_)
    if (block != this && (address - block->dynamic_begin_ < kSharedPerBlockOptin ||
                          address - block->image_begin_ < static_bytes_))
      return block;
  return nullptr;
}

}  // namespace simulator
