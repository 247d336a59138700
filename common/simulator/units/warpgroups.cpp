#include "common/simulator/units/warpgroups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/units/hopper.hpp"
#include "common/simulator/units/tensor_map.hpp"
#include "common/simulator/units/waiting.hpp"
#include "cuda_fp8.h"

namespace simulator {
namespace {

constexpr int kRows = 64;
constexpr int kHalves = 16;  // of 16 bits in a row of A: 32 bytes, be they 16 numbers or 32

/// Along K of a product: A is (64, depth).
int depth_of(WgmmaType type) {
  return type == WgmmaType::e4m3 ? 2 * kHalves : kHalves;
}

// ---- The descriptor. Its bits are the hardware's (common/kernel/wgmma.cuh); an address in static
// shared memory, which the hardware has no more of than 18 bits, goes on in those that are 0 there.

constexpr int kWindowBits = 18, kWindowShift = 52;

struct Tile {
  uintptr_t start;
  int64_t leading, stride;
  unsigned width;  // bytes of a row: 16 (no swizzle), 32, 64, 128
};

Tile tile_of(const RunningBlock& running, uint64_t bits) {
  constexpr unsigned WIDTHS[] = {16, 128, 64, 32};
  const uintptr_t offset = (bits & 0xffff) * 16 + ((bits >> kWindowShift & 0x3ff) << kWindowBits);
  return {running.address_in_shared(offset), static_cast<int64_t>(bits >> 16 & 0x3fff) * 16,
          static_cast<int64_t>(bits >> 32 & 0x3fff) * 16, WIDTHS[bits >> 62]};
}

/// Calls f(line, depth, address) for each 16 bytes of a tile of `lines` rows of A or columns of B:
/// eight halves along K from (line, depth) on, or with `mn_major` eight lines from there on. (PTX
/// ISA, "Strides" of "Asynchronous Warpgroup Level Matrix Instructions"; the layouts without a
/// swizzle: "Core matrices".)
template <class F>
void for_each_piece(const Tile& tile, int lines, bool mn_major, const F& f) {
  const int64_t width = tile.width, in_row = width / 2;
  const bool plain = tile.width == 16;
  for (int i = 0; i < lines; mn_major ? i += 8 : ++i)
    for (int k = 0; k < kHalves; mn_major ? ++k : k += 8) {
      int64_t at;
      if (!mn_major)
        at = i / 8 * tile.stride + i % 8 * width + (plain ? k / 8 * tile.leading : 2 * k);
      else if (plain)
        at = i / 8 * tile.stride + k % 8 * width + k / 8 * tile.leading;
      else
        at = i / in_row * tile.leading + i % in_row * 2 + k % 8 * width + k / 8 * tile.stride;
      f(i, k, swizzled(tile.start + static_cast<uintptr_t>(at), tile.width));
    }
}

float element(uint16_t bits, WgmmaType type) {
  if (type == WgmmaType::half) return static_cast<float>(__half::of_bits(bits));
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// The two numbers of 8 bits.
void put_bytes(uint16_t two, float* to, int step) {
  static const std::array<float, 256> VALUES = [] {
    std::array<float, 256> values{};
    for (unsigned i = 0; i < 256; ++i) values[i] = from_fp8(static_cast<unsigned char>(i), true);
    return values;
  }();
  to[0] = VALUES[two & 0xff];
  to[step] = VALUES[two >> 8];
}

/// A tile as numbers: to[line · line_step + depth · depth_step].
void load(const Tile& tile, int lines, bool mn_major, WgmmaType type, float* to, int line_step,
          int depth_step) {
  for_each_piece(tile, lines, mn_major, [&](int line, int depth, uintptr_t address) {
    uint16_t eight[8];
    std::memcpy(eight, reinterpret_cast<const void*>(address), sizeof eight);
    if (type == WgmmaType::e4m3) {  // K-major
      float* const first = to + line * line_step + 2 * depth * depth_step;
      for (int e = 0; e < 8; ++e) put_bytes(eight[e], first + 2 * e * depth_step, depth_step);
      return;
    }
    float* const first = to + line * line_step + depth * depth_step;
    const int step = mn_major ? line_step : depth_step;
    for (int e = 0; e < 8; ++e) first[e * step] = element(eight[e], type);
  });
}

bool same(const Products::Operands& x, const Products::Operands& y) {
  return x.columns == y.columns && x.has_registers == y.has_registers &&
         (x.has_registers || x.a == y.a) && x.b == y.b && x.add == y.add && x.type == y.type &&
         x.mn_major == y.mn_major;
}

bool overlap(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

// ---- wgmma

struct AtProducts : Waiting {
  AtProducts(const Products& products, int thread, size_t end)
      : products(products), thread(thread), end(end) {}
  std::string what() const override {
    const int first = thread / kWarpgroup * kWarpgroup;
    int come = 0;
    for (int t = first; t < first + kWarpgroup; ++t)
      come += products.threads_[static_cast<size_t>(t)].committed >= end;
    return "wgmma_wait(), warpgroup " + std::to_string(thread / kWarpgroup) + ", of which " +
           std::to_string(come) + " threads of 128 have begun and committed the product";
  }
  int weight() const override { return 4; }
  std::string likely() const override {
    return "  likely: wgmma() stands in a branch that not all four warps of the warpgroup take\n";
  }
  const Products& products;
  int thread;
  size_t end;
};

void Products::begin_block() {
  threads_.clear();
  groups_.clear();
  running_.watch_locals = false;
}

/// Before a product may use registers that the thread has written there must be a fence.
void Products::use_array(Thread& self, const void* begin, size_t bytes, const void* instruction) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(begin);
  for (Array& array : self.arrays)
    if (array.begin == at && array.bytes == bytes) {
      if (array.touched && running_.checks)
        running_.checks->report_registers(
            instruction, instruction,
            "  the thread has written the product's registers since its last wgmma_fence()\n"
            "  likely: wgmma_fence() is missing before the product\n");
      array.touched = false;  // told
      return;
    }
  constexpr size_t kMost = 64;
  if (self.arrays.size() == kMost) self.arrays.erase(self.arrays.begin());
  self.arrays.push_back({at, bytes, false});
}

void Products::begin(float* d, const uint32_t* registers, const Operands& operands) {
  const void* const instruction = operands.instruction;
  const int me = running_.current(), first = me / kWarpgroup * kWarpgroup;
  const int threads = running_.threads();
  if (first + kWarpgroup > threads)
    refuse(running_, "barrier", instruction,
           "  wgmma() takes 128 threads, four warps from a multiple of four on; of this warpgroup "
           "the block has " +
               std::to_string(threads - first) + "\n");
  if (threads_.empty()) {
    threads_.resize(static_cast<size_t>(threads));
    groups_.resize(static_cast<size_t>(threads / kWarpgroup));
    running_.watch_locals = running_.checks != nullptr;
  }
  Thread& self = of(me);
  Group& group = group_of(me);
  if (operands.columns % 8 != 0 || operands.columns > 256)
    refuse(running_, "barrier", instruction, "  wgmma() has 8, 16, … 256 columns\n");
  if (!self.has_fenced && running_.checks)
    running_.checks->report_registers(instruction, instruction,
                                      "  no wgmma_fence() stands before the thread's first "
                                      "product\n  likely: it is missing\n");
  self.has_fenced = true;  // told once
  // The sums: those of the products before, or the registers as they are.
  const size_t count = static_cast<size_t>(operands.columns / 2);
  auto sums = std::find_if(self.sums.begin(), self.sums.end(), [&](const Sums& one) {
    return one.d == d && one.values.size() == count;
  });
  if (sums == self.sums.end()) {
    use_array(self, d, count * sizeof(float), instruction);
    sums = self.sums.insert(sums, {d, std::vector<float>(d, d + count), 0, instruction});
    std::memset(d, 0xff, count * sizeof(float));
  }
  if (registers) use_array(self, registers, 4 * sizeof(uint32_t), instruction);
  sums->last = self.issued;
  sums->instruction = instruction;
  self.queue.push_back({operands, &*sums, registers});

  const size_t number = self.issued++;
  while (group.made + group.issued.size() <= number) group.issued.emplace_back();
  Group::Issued& all = group.issued[number - group.made];
  if (all.threads == 0) all.operands = operands;
  if (!same(all.operands, operands))
    refuse(running_, "barrier", instruction,
           "  the threads of a warpgroup begin a product together, and this one's operands differ "
           "from those of the first to come, at\n  " +
               source_line_with_text(static_cast<const char*>(all.operands.instruction) - 1) +
               "\n  likely: a descriptor depends on the thread or the warp, or a branch has a "
               "wgmma() in it\n");
  if (++all.threads == kWarpgroup) {
    operands_read(me / kWarpgroup, all.operands, true);
    all.reads = true;
  }
}

/// All of a warpgroup have begun a product: its operands are read from now on, or were until now.
void Products::operands_read(int group, const Operands& operands, bool begins) {
  Checks* const checks = running_.checks;
  const AccessKind kind = begins ? AccessKind::unit_read_begins : AccessKind::unit_read_ends;
  const uint32_t unit = kUnits + static_cast<uint32_t>(group);
  const Knowledge* const observer =
      checks && begins ? &checks->common_knowledge(group * kWarpgroup, kWarpgroup) : nullptr;
  const auto look = [&](uint64_t bits, int lines, bool mn_major) {
    const Tile tile = tile_of(running_, bits);
    if (begins && tile.start % (8 * tile.width) >= tile.width && tile.width > 16)
      refuse(running_, "bounds", operands.instruction,
             "  a tile of wgmma() with a swizzle of " + std::to_string(tile.width) +
                 " bytes must begin at a multiple of " + std::to_string(8 * tile.width) +
                 " bytes (or further on in its first row), and this one begins at " +
                 running_.shared_name(tile.start) + "\n",
             cudaErrorMisalignedAddress);
    for_each_piece(tile, lines, mn_major, [&](int, int, uintptr_t address) {
      if (begins && !running_.is_shared_range(address, 16))
        refuse(running_, "bounds", operands.instruction,
               "  a tile of wgmma() goes past the end of shared memory\n  likely: a distance in "
               "its descriptor is wrong\n",
               cudaErrorIllegalAddress);
      if (checks) checks->unit_access(address, 16, kind, unit, observer, operands.instruction);
    });
  };
  if (!operands.has_registers) look(operands.a, kRows, operands.mn_major & 1);
  look(operands.b, operands.columns, operands.mn_major & 2);
}

void Products::fence() {
  const size_t me = static_cast<size_t>(running_.current());
  if (threads_.empty()) {  // before the block's first product
    threads_.resize(static_cast<size_t>(running_.threads()));
    groups_.resize(static_cast<size_t>(running_.threads() / kWarpgroup));
    running_.watch_locals = running_.checks != nullptr;
  }
  threads_[me].has_fenced = true;
  for (Array& array : threads_[me].arrays) array.touched = false;
}

void Products::commit(const void*) {
  if (threads_.empty()) return;
  const int me = running_.current();
  Thread& self = of(me);
  self.committed = self.issued;
  self.groups.push_back(self.issued);
  if (groups_.size() <= static_cast<size_t>(me / kWarpgroup)) return;
  for (const int thread : std::exchange(group_of(me).waiting, {})) running_.wake(thread);
}

bool Products::all_committed(int group, size_t end) const {
  const size_t first = static_cast<size_t>(group * kWarpgroup);
  for (size_t t = first; t < first + kWarpgroup; ++t)
    if (threads_[t].committed < end) return false;
  return true;
}

void Products::wait(int pending, const void* instruction) {
  if (threads_.empty()) return;
  const int me = running_.current();
  Thread& self = of(me);
  for (; self.groups.size() > static_cast<size_t>(pending); self.groups.pop_front())
    self.waited = self.groups.front();
  const size_t end = self.waited;
  if (groups_.size() <= static_cast<size_t>(me / kWarpgroup)) return;
  Group& group = group_of(me);
  while (group.made < end && !all_committed(me / kWarpgroup, end)) {
    AtProducts waiting(*this, me, end);
    waiting.instruction = instruction;
    group.waiting.push_back(me);
    running_.wait_for(waiting);
  }
  make(me / kWarpgroup, end);
  for (auto sums = self.sums.begin(); sums != self.sums.end();) {
    if (sums->last >= end) {
      ++sums;
      continue;
    }
    std::copy(sums->values.begin(), sums->values.end(), sums->d);
    sums = self.sums.erase(sums);
  }
  if (running_.checks) running_.checks->acquire(me, group.done);
}

void Products::make(int group, size_t end) {
  while (groups_[static_cast<size_t>(group)].made < end) make_one(group);
}

/// The product that is next: the sums of all 128 threads.
void Products::make_one(int number) {
  Group& group = groups_[static_cast<size_t>(number)];
  const Operands& operands = group.issued.front().operands;
  const int columns = operands.columns, first = number * kWarpgroup;
  const int depth = depth_of(operands.type);
  static thread_local float A[kRows * 2 * kHalves];
  static thread_local float B[2 * kHalves * 256], D[kRows * 256];
  const auto product = [&](int t) -> Product& { return of(first + t).queue.front(); };

  if (operands.has_registers) {
    for (int t = 0; t < kWarpgroup; ++t) {
      const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < 2; ++e) {
          const auto bits = static_cast<uint16_t>(product(t).operands.registers[r] >> 16 * e);
          const int at = column + r / 2 * 8 + e;  // in halves
          float* const to = A + (row + r % 2 * 8) * depth;
          if (operands.type == WgmmaType::e4m3)
            put_bytes(bits, to + 2 * at, 1);
          else
            to[at] = element(bits, operands.type);
        }
    }
  } else {
    load(tile_of(running_, operands.a), kRows, operands.mn_major & 1, operands.type, A, depth, 1);
  }
  load(tile_of(running_, operands.b), columns, operands.mn_major & 2, operands.type, B, 1, columns);

  const auto each_sum = [&](const auto& use) {
    for (int t = 0; t < kWarpgroup; ++t) {
      const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
      float* const values = product(t).sums->values.data();
      for (int i = 0; i < columns / 2; ++i)
        use(values[i], D[(row + i % 4 / 2 * 8) * columns + i / 4 * 8 + column + i % 2]);
    }
  };
  if (operands.add)
    each_sum([](float value, float& d) { d = value; });
  else
    std::fill_n(D, kRows * columns, 0.0f);
  // The products are exact in fp32; those of one sum are added up first.
  typedef float Eight __attribute__((vector_size(32), aligned(4)));
  for (int m = 0; m < kRows; ++m)
    for (int n = 0; n < columns; n += 8) {
      Eight sum = {};
      for (int k = 0; k < depth; ++k)
        sum += A[m * depth + k] * *reinterpret_cast<const Eight*>(B + k * columns + n);
      *reinterpret_cast<Eight*>(D + m * columns + n) += sum;
    }
  each_sum([](float& value, float d) { value = d; });
  if (running_.trace) running_.trace->multiplied(int64_t{kRows} * depth * columns, true);

  operands_read(number, operands, false);
  if (running_.checks)
    running_.checks->unit_done(kUnits + static_cast<uint32_t>(number), group.done);
  group.issued.pop_front();
  ++group.made;
  for (int t = 0; t < kWarpgroup; ++t) of(first + t).queue.pop_front();
}

void Products::local_access(uintptr_t address, size_t bytes, bool writes, const void* instruction) {
  const size_t me = static_cast<size_t>(running_.current());
  if (me >= threads_.size()) return;
  Thread& self = threads_[me];
  for (const Sums& sums : self.sums)
    if (overlap(address, bytes, reinterpret_cast<uintptr_t>(sums.d),
                sums.values.size() * sizeof(float)))
      running_.checks->report_registers(
          sums.instruction, instruction,
          std::string("  sums of the product are ") + (writes ? "written" : "read") +
              " before it was waited for: they are not there yet\n"
              "  likely: wgmma_wait(), which names the sums, is missing before this line, or "
              "leaves too many groups\n");
  if (!writes) return;
  for (const Product& product : self.queue)
    if (product.registers &&
        overlap(address, bytes, reinterpret_cast<uintptr_t>(product.registers), 16))
      running_.checks->report_registers(
          product.operands.instruction, instruction,
          "  registers of A are written while the product may still read them\n"
          "  likely: wgmma_wait() is missing before this line\n");
  for (Array& array : self.arrays)
    array.touched |= overlap(address, bytes, array.begin, array.bytes);
}

void Products::thread_left(int thread) {
  if (threads_.empty() || of(thread).queue.empty() || !running_.checks) return;
  running_.checks->report_leaving(
      of(thread).queue.front().operands.instruction,
      "  the thread leaves while the product may still read its tiles: nobody waited for it\n"
      "  likely: wgmma_commit() and wgmma_wait<0>() are missing at the end\n");
}

// ---- Barriers of some threads

struct AtNamedBarrier : Waiting {
  AtNamedBarrier(const NamedBarriers& barriers, int number) : barriers(barriers), number(number) {}
  std::string what() const override {
    const auto& barrier = barriers.barriers_[number];
    return "named barrier " + std::to_string(number) + ", to which " +
           std::to_string(barrier.come) + " threads of " + std::to_string(barrier.wanted) +
           " have come";
  }
  std::string likely() const override {
    return "  likely: its number or its count of threads differs between those who come, or some "
           "do "
           "not come\n";
  }
  const NamedBarriers& barriers;
  int number;
};

void NamedBarriers::begin_block() {
  for (Barrier& barrier : barriers_) barrier = {};
}

void NamedBarriers::come(int number, int threads, bool waits, const void* instruction) {
  const std::string name = "  named barrier " + std::to_string(number);
  if (number < 1 || number > 15)
    refuse(running_, "barrier", instruction,
           name + ": their numbers are 1 to 15, and 0 is that of __syncthreads()\n");
  if (threads <= 0 || threads % 32 != 0 || threads > (running_.threads() + 31) / 32 * 32)
    refuse(running_, "barrier", instruction,
           name + " of " + std::to_string(threads) + " threads: whole warps come, of a block of " +
               std::to_string(running_.threads()) + " threads\n");
  Barrier& barrier = barriers_[number];
  if (barrier.come > 0 && barrier.wanted != threads)
    refuse(running_, "barrier", instruction,
           name + " of " + std::to_string(threads) + " threads, and those who have come say " +
               std::to_string(barrier.wanted) + "\n");
  barrier.wanted = threads;
  const int me = running_.current();
  if (running_.checks) {
    running_.checks->release(me, barrier.knows);
    running_.checks->lane_is_with_others(me);
  }
  if (++barrier.come < threads) {
    if (!waits) return;
    AtNamedBarrier waiting(*this, number);
    waiting.instruction = instruction;
    barrier.waiting.push_back(me);
    running_.wait_for(waiting);
    return;
  }
  if (waits) barrier.waiting.push_back(me);
  for (const int thread : barrier.waiting) {
    if (running_.checks) running_.checks->acquire(thread, barrier.knows);
    if (thread != me) running_.wake(thread);
  }
  barrier = {};
}

// ---- Registers

struct AtRegisters : Waiting {
  AtRegisters(const RegisterPool& pool, int count) : pool(pool), count(count) {}
  std::string what() const override {
    return "take_registers<" + std::to_string(count) + ">(): of the block's registers " +
           std::to_string(pool.free_) + " are free (it began with " +
           std::to_string(pool.at_begin_) + " a thread)";
  }
  std::string likely() const override {
    return "  likely: the warpgroups take more than the others give: the counts of all threads "
           "together are at most what the block began with\n";
  }
  const RegisterPool& pool;
  int count;
};

void RegisterPool::change(int count, bool more, const void* instruction) {
  constexpr int kOfBlock = 65536, kMost = 255;
  const size_t me = static_cast<size_t>(running_.current());
  if (of_.empty()) {
    // What the compiler leaves each thread if one block has the SM to itself (__launch_bounds__).
    at_begin_ = std::min(kOfBlock / running_.threads(), kMost) / 8 * 8;
    of_.assign(static_cast<size_t>(running_.threads()), at_begin_);
    free_ = 0;
    waiting_.clear();
  }
  if (more && count <= of_[me]) return;  // the compiler may have left it fewer
  if (!more && count > of_[me])
    refuse(running_, "barrier", instruction,
           "  give_registers<" + std::to_string(count) + ">() of a thread that has " +
               std::to_string(of_[me]) + ": to have more it is take_registers()\n");
  const int wanted = count - of_[me];
  while (free_ < wanted) {
    AtRegisters waiting(*this, count);
    waiting.instruction = instruction;
    waiting_.push_back(running_.current());
    running_.wait_for(waiting);
  }
  free_ -= wanted;
  of_[me] = count;
  if (wanted < 0)
    for (const int thread : std::exchange(waiting_, {})) running_.wake(thread);
}

// ---- What kernels call

void named_barrier(int barrier, int threads, bool waits) {
  RunningBlock& running = hopper_block("a named barrier", "");
  const SimulatorScope scope;
  running.settle();
  running.hopper->named.come(barrier, threads, waits, __builtin_return_address(0));
}
void set_registers(int count, bool more) {
  RunningBlock& running = hopper_block("setmaxnreg", "sm_90a");
  const SimulatorScope scope;
  running.hopper->registers.change(count, more, __builtin_return_address(0));
}
void wgmma(float* d, int columns, uint64_t a, const uint32_t* registers, uint64_t b, bool add,
           WgmmaType type, int mn_major) {
  RunningBlock& running = hopper_block("wgmma()", "sm_90a");
  const SimulatorScope scope;
  running.settle();
  Products::Operands operands{columns, a,    b,        registers != nullptr,       add,
                              {},      type, mn_major, __builtin_return_address(0)};
  if (registers) std::memcpy(operands.registers, registers, sizeof operands.registers);
  running.hopper->products.begin(d, registers, operands);
}
void wgmma_fence() {
  RunningBlock& running = hopper_block("wgmma_fence()", "sm_90a");
  const SimulatorScope scope;
  running.hopper->products.fence();
}
void wgmma_commit() {
  RunningBlock& running = hopper_block("wgmma_commit()", "sm_90a");
  const SimulatorScope scope;
  running.hopper->products.commit(__builtin_return_address(0));
}
void wgmma_wait(int pending) {
  RunningBlock& running = hopper_block("wgmma_wait()", "sm_90a");
  const SimulatorScope scope;
  running.settle();
  running.hopper->products.wait(pending, __builtin_return_address(0));
}
uint64_t wgmma_descriptor(const void* start, int leading, int stride, int swizzle) {
  RunningBlock& running = hopper_block("WgmmaOperand", "sm_90a");
  const SimulatorScope scope;
  const uintptr_t address = reinterpret_cast<uintptr_t>(start);
  const void* const instruction = __builtin_return_address(0);
  if (!running.is_shared(address) || address % 16 != 0)
    refuse(running, "bounds", instruction,
           "  a tile of wgmma() lies in this block's shared memory, at a multiple of 16 bytes\n",
           cudaErrorIllegalAddress);
  const uint64_t offset = running.offset_in_shared(address);
  return (offset >> 4 & 0x3fff) | (offset >> kWindowBits) << kWindowShift |
         uint64_t{static_cast<uint32_t>(leading) >> 4 & 0x3fff} << 16 |
         uint64_t{static_cast<uint32_t>(stride) >> 4 & 0x3fff} << 32 |
         static_cast<uint64_t>(swizzle) << 62;
}

}  // namespace simulator
