// What the checks remember of memory: for every four bytes, and for each byte where an access
// touched fewer, who wrote and who read them last; and whether anybody wrote them at all.
//
// Two accesses race when they touch the same bytes, at least one writes, not both are atomic, and
// nothing orders them. Time is counted per warp: it advances at every barrier of the block and at
// every operation of the warp, and an access remembers its warp's time. A barrier orders everything
// in the block that came before it; an operation of a warp orders the lanes that took part. Nothing
// orders two blocks. (The idea: Flanagan and Freund, "FastTrack", PLDI 2009; here with two readers
// kept.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace simulator {

/// Threads of a record from here on are the units that work for a block on their own: the tensor
/// cores for each of its warpgroups, and the TMA unit for each of its barriers (checks_async.cpp).
inline constexpr uint32_t kUnits = 1024, kTmaUnits = kUnits + 8, kMaxUnits = 8 + 248;

/// One access of the past. `epoch` is the launch, for global memory, or the run of a block, for
/// shared memory: records of another epoch are ordered before everything now, so nothing is ever
/// cleared.
struct Record {
  uint32_t epoch = 0;
  uint32_t instruction = 0;  // its place in the program
  uint32_t block = 0;        // in the grid, modulo 2^32
  uint32_t time : 21 = 0;
  uint32_t thread : 11 = 0;
};

/// The last accesses of four bytes of memory, or of one.
struct Cell {
  Record write;
  Record reads[2];  // of different threads
  uint8_t write_is_atomic = 0;
  uint8_t copy_pending = 0;  // the write is an asynchronous copy that was not waited for: 1 of a
                             // thread, 2 of the TMA unit
  uint8_t lock = 0;          // of global memory, which several workers use at once
  uint8_t is_split = 0;      // its four bytes have had different accesses: each has its own cell
};

/// Which of the four bytes from `four` on lie in [begin, end): a bit a byte. At least one does.
inline uint8_t bytes_of_four(uintptr_t four, uintptr_t begin, uintptr_t end) {
  const uintptr_t first = begin > four ? begin - four : 0;
  const uintptr_t behind = four + 4 > end ? four + 4 - end : 0;
  return static_cast<uint8_t>((0xfu << first) & (0xfu >> behind));
}

/// Keeps other workers from a cell of global memory.
class CellLock {
 public:
  explicit CellLock(Cell& cell) : cell_(cell) {
    while (__atomic_exchange_n(&cell_.lock, uint8_t{1}, __ATOMIC_ACQUIRE)) {
    }
  }
  ~CellLock() { __atomic_store_n(&cell_.lock, uint8_t{0}, __ATOMIC_RELEASE); }
  CellLock(const CellLock&) = delete;

 private:
  Cell& cell_;
};

/// Visits what remembers an access of these of a cell's four bytes: visit(cell, its bytes), with
/// the cell, or with those of single bytes where this access or an earlier one touched fewer than
/// four; cells_of_bytes() gives the cell's four. A write of all four joins them again.
template <class ByteCells, class Visit>
void visit_cells(Cell& four, const ByteCells& cells_of_bytes, uint8_t bytes, bool writes,
                 const Visit& visit) {
  if (bytes == 0xf && !four.is_split) return visit(four, bytes);
  Cell* const byte_cells = cells_of_bytes();
  if (!four.is_split) std::fill_n(byte_cells, 4, four);
  four.is_split = 1;
  for (int byte = 0; byte < 4; ++byte)
    if (bytes >> byte & 1) visit(byte_cells[byte], static_cast<uint8_t>(1 << byte));
  if (bytes != 0xf || !writes) return;
  byte_cells[0].lock = four.lock;
  four = byte_cells[0];
  four.is_split = 0;
}

/// The cell of the four bytes at a device address, and the cells of its single bytes. Their memory
/// comes when it is first touched.
Cell& global_cell(uintptr_t four);
Cell* global_byte_cells(uintptr_t four);
/// Which of the four bytes at a device address were ever written: a bit a byte.
uint8_t& global_written(uintptr_t address);

// What the host does to global memory. `bytes` need not be a multiple of four.
void mark_written(const void* address, size_t bytes);
void mark_unwritten(const void* address, size_t bytes);

}  // namespace simulator
