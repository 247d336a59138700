#include "common/simulator/device/shadow.hpp"

#include <cstring>

#include "common/simulator/device/device.hpp"
#include "common/simulator/world/pages.hpp"
#include "common/simulator/world/sparse.hpp"

namespace simulator {
namespace {

// One for every four bytes of global memory, and one for every byte.
constexpr size_t kFours = kDeviceSpan / 4, kBytes = kDeviceSpan;
constexpr const char* kWhat = "what its checks remember";

size_t index(uintptr_t address) {
  return (address - device_begin()) / 4;
}

void mark(const void* address, size_t bytes, bool written) {
  uintptr_t at = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = at + bytes;
  while (at < end) {
    if (at % 4 == 0 && end - at >= 4) {  // the whole fours at once
      const size_t fours = (end - at) / 4;
      std::memset(&global_written(at), written ? 0xf : 0, fours);
      at += fours * 4;
    } else {
      const uint8_t bit = static_cast<uint8_t>(1u << at % 4);
      uint8_t& bits = global_written(at);
      bits = static_cast<uint8_t>(written ? bits | bit : bits & ~bit);
      ++at;
    }
  }
}

}  // namespace

Cell& global_cell(uintptr_t four) {
  static SparseArray<Cell> cells(kFours, kWhat);
  return cells[index(four)];
}
Cell* global_byte_cells(uintptr_t four) {
  static SparseArray<Cell> cells(kBytes, kWhat);
  return &cells[4 * index(four)];
}
uint8_t& global_written(uintptr_t address) {
  static uint8_t* const written = map_pages(kFours, kWhat);
  return written[index(address)];
}

void mark_written(const void* address, size_t bytes) {
  mark(address, bytes, true);
}
void mark_unwritten(const void* address, size_t bytes) {
  mark(address, bytes, false);
}

}  // namespace simulator
