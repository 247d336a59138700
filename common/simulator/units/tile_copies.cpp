#include "common/simulator/units/tile_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/units/hopper.hpp"
#include "ptx_bulk.h"

namespace simulator {
namespace {

constexpr unsigned char kPoison = 0xff;  // NaN: what a tile holds until the copy comes
constexpr uintptr_t kAlignment = 128;    // of a tile in shared memory
constexpr int64_t kStart = 16;  // of its first column's bytes in the array: an H200 refuses others

/// Calls f(row of the tile, the first column that lies in the array, how many do, their address).
template <class F>
void for_each_row(const TensorMapImage& map, const int (&at)[5], const F& f) {
  const int64_t first = std::max<int64_t>(0, -int64_t{at[0]});
  const int64_t end =
      std::min<int64_t>(map.box[0], static_cast<int64_t>(map.extents[0]) - int64_t{at[0]});
  int64_t row = 0;
  int64_t i[5];
  for (i[4] = 0; i[4] < map.box[4]; ++i[4])
    for (i[3] = 0; i[3] < map.box[3]; ++i[3])
      for (i[2] = 0; i[2] < map.box[2]; ++i[2])
        for (i[1] = 0; i[1] < map.box[1]; ++i[1], ++row) {
          bool inside = first < end;
          uint64_t address = map.array;
          for (int d = 1; d < 5; ++d) {
            const int64_t where = at[d] + i[d];
            inside = inside && where >= 0 && where < static_cast<int64_t>(map.extents[d]);
            if (inside) address += static_cast<uint64_t>(where) * map.strides[d];
          }
          if (inside)
            f(row, first, end - first,
              static_cast<uintptr_t>(address +
                                     static_cast<uint64_t>((at[0] + first) * map.element)));
          else
            f(row, int64_t{0}, int64_t{0}, uintptr_t{0});
        }
}

/// Where byte `byte` of a tile lies in shared memory, and 16 bytes with it.
unsigned char* place(const TensorMapImage& map, uintptr_t shared, int64_t byte) {
  return reinterpret_cast<unsigned char*>(
      swizzled(shared + static_cast<uintptr_t>(byte), map.swizzle));
}

}  // namespace

void TileCopies::begin_block() {
  loads_.clear();
  threads_.clear();
}

TileCopies::Thread& TileCopies::running() {
  const size_t thread = static_cast<size_t>(running_.current());
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  return threads_[thread];
}

TileCopies::Tile TileCopies::tile_of(const void* map, const int* at, int dimensions,
                                     uintptr_t shared, const char* what, const void* instruction) {
  Tile tile{};
  std::memcpy(&tile.map, map, sizeof tile.map);
  const std::string start = std::string("  ") + what;
  if (tile.map.mark != TensorMapImage::kMark)
    refuse(running_, "bounds", instruction,
           start + " was given a map that tensor_map() has not made\n", cudaErrorIllegalAddress);
  if (tile.map.rank != dimensions)
    refuse(running_, "bounds", instruction,
           start + " has " + std::to_string(dimensions) + " coordinates, and its map " +
               std::to_string(tile.map.rank) + " dimensions\n",
           cudaErrorIllegalAddress);
  if (!running_.is_shared(shared))
    refuse(running_, "bounds", instruction,
           start + ": the tile must lie in this block's shared memory\n", cudaErrorIllegalAddress);
  if (shared % kAlignment != 0)
    refuse(running_, "bounds", instruction,
           start +
               ": the tile must begin at a multiple of 128 bytes, with a swizzle of 1024, and " +
               running_.shared_name(shared) + " does not\n",
           cudaErrorMisalignedAddress);
  if (int64_t{at[0]} * tile.map.element % kStart != 0)
    refuse(running_, "bounds", instruction,
           start + ": a tile must begin at a column whose bytes are a multiple of 16, and column " +
               std::to_string(at[0]) + " of " + std::to_string(tile.map.element) +
               "-byte elements does not\n",
           cudaErrorIllegalInstruction);
  for (int d = 0; d < dimensions; ++d) tile.at[d] = at[d];
  tile.shared = shared;
  tile.instruction = instruction;
  return tile;
}

void TileCopies::count(const Tile& tile, bool is_store) {
  if (running_.trace == nullptr) return;
  int64_t bytes = 0, sectors = 0;
  for_each_row(tile.map, tile.at, [&](int64_t, int64_t, int64_t columns, uintptr_t from) {
    if (columns == 0) return;
    const uintptr_t end = from + static_cast<uintptr_t>(columns * tile.map.element);
    running_.trace->tile_row_touched(from, end, is_store);
    bytes += static_cast<int64_t>(end - from);
    sectors += static_cast<int64_t>((end + 31) / 32 - from / 32);
  });
  running_.trace->tile_copied(running_.call_before(tile.instruction), is_store, bytes, sectors);
}

// ---- Loads

void TileCopies::load(void* to, const void* map, uint64_t* barrier, const int* at, int dimensions,
                      unsigned blocks, const void* instruction) {
  const uintptr_t shared = reinterpret_cast<uintptr_t>(to);
  const Tile tile = tile_of(map, at, dimensions, shared, "tma_load()", instruction);
  if (shared + static_cast<uintptr_t>(tile.map.bytes()) > running_.shared_end(shared))
    refuse(running_, "bounds", instruction,
           "  tma_load(): a tile of " + std::to_string(tile.map.bytes()) + " bytes at " +
               running_.shared_name(shared) + " goes past the end of shared memory\n",
           cudaErrorIllegalAddress);
  if (Checks* checks = running_.checks)
    for_each_row(tile.map, tile.at, [&](int64_t, int64_t, int64_t columns, uintptr_t from) {
      if (columns > 0)
        checks->global_access(from, static_cast<size_t>(columns * tile.map.element),
                              AccessKind::read, instruction);
    });
  count(tile, false);
  if (blocks == 0) return begin(tile, barrier);
  for (uint32_t block = 0; block < 32; ++block) {
    if (!(blocks >> block & 1)) continue;
    RunningBlock& other = running_.block_of_cluster(block, instruction);
    if (&other == &running_)
      begin(tile, barrier);
    else
      begin_in(other, tile, barrier);
  }
}

void TileCopies::require_shown(RunningBlock& owner, const Mbarrier& barrier,
                               const void* instruction) {
  if (!barrier.is_shown)
    refuse(running_, "barrier", instruction,
           "  tma_load(): the TMA unit may not see " + owner.hopper->mbarriers.name(barrier) +
               " yet\n  likely: barrier_init_fence() is missing after barrier_init(), in the same "
               "thread\n");
}

void TileCopies::begin(const Tile& tile, uint64_t* at_barrier) {
  Mbarrier& barrier = running_.hopper->mbarriers.find(
      reinterpret_cast<uintptr_t>(at_barrier), "tma_load() with the barrier", tile.instruction);
  require_shown(running_, barrier, tile.instruction);
  const size_t bytes = static_cast<size_t>(tile.map.bytes());
  if (running_.checks)
    running_.checks->unit_access(tile.shared, bytes, AccessKind::tile_begins, 0, nullptr,
                                 tile.instruction);
  std::memset(reinterpret_cast<void*>(tile.shared), kPoison, bytes);
  loads_.push_back({tile, &barrier});
}

/// The tile lies in the other block where it lies in this one, and so does the barrier.
void TileCopies::begin_in(RunningBlock& other, const Tile& tile, uint64_t* at_barrier) {
  Mbarrier& barrier = other.hopper->mbarriers.find_from(
      running_, other.same_address(reinterpret_cast<uintptr_t>(at_barrier), running_),
      "tma_load_multicast() with the barrier", tile.instruction);
  require_shown(other, barrier, tile.instruction);
  const size_t bytes = static_cast<size_t>(tile.map.bytes());
  Tile there = tile;
  there.shared = other.same_address(tile.shared, running_);
  const uintptr_t from_here = other.address_from_others(there.shared);
  if (running_.checks)
    running_.checks->remote_access(other, from_here, bytes, AccessKind::tile_begins,
                                   tile.instruction);
  if (other.has_left()) return;
  std::memset(reinterpret_cast<void*>(from_here), kPoison, bytes);
  other.hopper->copies.loads_.push_back({there, &barrier});
}

void TileCopies::land(const Load& load) {
  const TensorMapImage& map = load.tile.map;
  const int64_t row_bytes = map.row_bytes();
  std::vector<unsigned char> line(static_cast<size_t>(row_bytes));
  for_each_row(map, load.tile.at, [&](int64_t row, int64_t first, int64_t columns, uintptr_t from) {
    std::fill(line.begin(), line.end(), uint8_t{0});
    if (columns > 0)
      std::memcpy(&line[static_cast<size_t>(first * map.element)],
                  reinterpret_cast<const void*>(from), static_cast<size_t>(columns * map.element));
    for (int64_t byte = 0; byte < row_bytes; byte += 16)
      std::memcpy(place(map, load.tile.shared, row * row_bytes + byte),
                  &line[static_cast<size_t>(byte)], 16);
  });
  if (running_.checks)
    running_.checks->unit_access(load.tile.shared, static_cast<size_t>(map.bytes()),
                                 AccessKind::tile_ends, load.barrier->unit, nullptr,
                                 load.tile.instruction);
  running_.hopper->mbarriers.bytes_came(*load.barrier, map.bytes(), load.tile.instruction);
}

bool TileCopies::land() {
  std::vector<Load> now, later;
  for (Load& load : loads_) (load.barrier->waiting.empty() ? later : now).push_back(load);
  loads_ = std::move(later);
  for (const Load& load : now) land(load);
  return !now.empty();
}

// ---- Stores

void TileCopies::store(const void* map, const void* from, const int* at, int dimensions,
                       const void* instruction) {
  const uintptr_t shared = reinterpret_cast<uintptr_t>(from);
  Store store{tile_of(map, at, dimensions, shared, "tma_store()", instruction), {}, false};
  if (running_.checks)
    running_.checks->unit_access(shared, static_cast<size_t>(store.tile.map.bytes()),
                                 AccessKind::unit_read_begins, 0, nullptr, instruction);
  count(store.tile, true);
  running().open.push_back(std::move(store));
}

void TileCopies::store_or_add(bool add, float* to, const float* from, int count,
                              const void* instruction) {
  const uintptr_t shared = reinterpret_cast<uintptr_t>(from);
  const uintptr_t global = reinterpret_cast<uintptr_t>(to);
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  const std::string start = add ? "  bulk_add(): " : "  bulk_store(): ";
  if (!running_.is_shared(shared))
    refuse(running_, "bounds", instruction,
           start + "the numbers must lie in this block's shared memory\n", cudaErrorIllegalAddress);
  const auto between = [&](const std::string& what) {
    refuse(running_, "bounds", instruction, start + what, cudaErrorMisalignedAddress);
  };
  if (shared % 16 != 0)
    between(running_.shared_name(shared) + " does not begin at a multiple of 16 bytes\n");
  if (global % 16 != 0)
    between("the place in global memory does not begin at a multiple of 16 bytes\n");
  if (bytes % 16 != 0)
    between("the count must be a multiple of 4, and " + std::to_string(count) + " is none\n");
  if (bytes > running_.shared_end(shared) - shared)
    refuse(running_, "bounds", instruction,
           start + std::to_string(count) + " numbers at " + running_.shared_name(shared) +
               " go past the end of shared memory\n",
           cudaErrorIllegalAddress);
  if (running_.checks)
    running_.checks->unit_access(shared, bytes, AccessKind::unit_read_begins, 0, nullptr,
                                 instruction);
  if (running_.trace != nullptr) {
    running_.trace->tile_row_touched(global, global + bytes, true);
    running_.trace->tile_copied(running_.call_before(instruction), true,
                                static_cast<int64_t>(bytes), static_cast<int64_t>(bytes / 32));
  }
  Store store{};
  store.tile.shared = shared;
  store.tile.instruction = instruction;
  store.numbers = to;
  store.size = bytes;
  store.add = add;
  running().open.push_back(std::move(store));
}

void TileCopies::commit() {
  Thread& self = running();
  self.groups.push_back(std::exchange(self.open, {}));
}

void TileCopies::wait(int pending, bool only_read) {
  if (running_.checks) running_.checks->lane_waits(running_.current());
  Thread& self = running();
  const size_t left = static_cast<size_t>(pending);
  for (size_t group = 0; group + left < self.groups.size(); ++group)
    for (Store& store : self.groups[group]) read(store);
  if (only_read) return;
  for (; self.groups.size() > left; self.groups.pop_front())
    for (const Store& store : self.groups.front()) write(store);
}

void TileCopies::read(Store& store) {
  if (store.has_read) return;
  store.has_read = true;
  if (store.numbers != nullptr) {
    const auto* const from = reinterpret_cast<const unsigned char*>(store.tile.shared);
    store.bytes.assign(from, from + store.size);
    if (running_.checks)
      running_.checks->unit_access(store.tile.shared, store.size, AccessKind::unit_read_ends, 0,
                                   nullptr, store.tile.instruction);
    return;
  }
  const TensorMapImage& map = store.tile.map;
  store.bytes.resize(static_cast<size_t>(map.bytes()));
  for (int64_t byte = 0; byte < map.bytes(); byte += 16)
    std::memcpy(&store.bytes[static_cast<size_t>(byte)], place(map, store.tile.shared, byte), 16);
  if (running_.checks)
    running_.checks->unit_access(store.tile.shared, static_cast<size_t>(map.bytes()),
                                 AccessKind::unit_read_ends, 0, nullptr, store.tile.instruction);
}

void TileCopies::write_numbers(const Store& store) {
  for (size_t byte = 0; byte < store.size; byte += sizeof(float)) {
    float* const number = store.numbers + byte / sizeof(float);
    if (running_.checks)
      running_.checks->global_access(reinterpret_cast<uintptr_t>(number), sizeof(float),
                                     store.add ? AccessKind::atomic : AccessKind::write,
                                     store.tile.instruction);
    float part = 0;
    std::memcpy(&part, &store.bytes[byte], sizeof part);
    if (store.add)
      std::atomic_ref(*number).fetch_add(part);
    else
      *number = part;
    if (running_.checks) running_.checks->settle();
  }
}

void TileCopies::write(const Store& store) {
  if (store.numbers != nullptr) return write_numbers(store);
  const TensorMapImage& map = store.tile.map;
  for_each_row(map, store.tile.at, [&](int64_t row, int64_t first, int64_t columns, uintptr_t to) {
    if (columns == 0) return;
    // Whole 16 bytes, as an H200 does, with what the tile has there: behind the end of a row, too.
    const size_t bytes = static_cast<size_t>((columns * map.element + 15) / 16 * 16);
    if (running_.checks)
      running_.checks->global_access(to, bytes, AccessKind::write, store.tile.instruction);
    std::memcpy(reinterpret_cast<void*>(to),
                &store.bytes[static_cast<size_t>(row * map.row_bytes() + first * map.element)],
                bytes);
    if (running_.checks) running_.checks->settle();
  });
}

// ---- The end

void TileCopies::thread_left(int thread) {
  if (static_cast<size_t>(thread) >= threads_.size()) return;
  Thread& self = threads_[static_cast<size_t>(thread)];
  if (!self.open.empty()) self.groups.push_back(std::exchange(self.open, {}));
  for (auto& group : std::exchange(self.groups, {}))
    for (Store& store : group) {
      if (store.has_read)
        write(store);  // it comes by the end of the kernel
      else if (running_.checks)
        running_.checks->report_leaving(
            store.tile.instruction,
            "  the thread leaves while the TMA unit may still read the tile: shared memory ends "
            "with the block\n"
            "  likely: tma_commit() and tma_wait_read<0>() are missing at the end\n");
    }
}

void TileCopies::end_block() {
  for (const Load& load : std::exchange(loads_, {}))
    if (running_.checks)
      running_.checks->report_leaving(
          load.tile.instruction,
          "  the block leaves while the TMA unit may still write the tile: nobody waited for the "
          "copy\n"
          "  likely: a tile too many is loaded at the end, or its barrier_wait() is missing\n");
}

// ---- What kernels call

void tma_load(void* to, const void* map, uint64_t* barrier, const int* at, int dimensions,
              unsigned blocks) {
  RunningBlock& running = hopper_block("tma_load()");
  const SimulatorScope scope;
  running.settle();
  running.hopper->copies.load(to, map, barrier, at, dimensions, blocks,
                              __builtin_return_address(0));
}
void tma_store(const void* map, const void* from, const int* at, int dimensions) {
  RunningBlock& running = hopper_block("tma_store()");
  const SimulatorScope scope;
  running.settle();
  running.hopper->copies.store(map, from, at, dimensions, __builtin_return_address(0));
}
void bulk_store_or_add(bool add, float* to, const float* from, int count) {
  RunningBlock& running = hopper_block(add ? "bulk_add()" : "bulk_store()");
  const SimulatorScope scope;
  running.settle();
  running.hopper->copies.store_or_add(add, to, from, count, __builtin_return_address(0));
}
void prefetch_tensor_map(const void*) {}  // no copy is any faster for it
void tma_commit() {
  RunningBlock& running = hopper_block("tma_commit()");
  const SimulatorScope scope;
  running.hopper->copies.commit();
}
void tma_wait(int pending, bool only_read) {
  RunningBlock& running = hopper_block("tma_wait()");
  const SimulatorScope scope;
  running.settle();
  running.hopper->copies.wait(pending, only_read);
}

}  // namespace simulator
