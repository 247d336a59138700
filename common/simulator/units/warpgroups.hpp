// What warps of a block do as groups (common/kernel/wgmma.cuh, warpgroup.cuh): products of
// warpgroups, barriers of some threads, registers that change hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "common/simulator/check/checks.hpp"
#include "ptx_hopper.h"

namespace simulator {

class RunningBlock;

inline constexpr int kWarpgroup = 128;

/// wgmma. Each thread queues the products that it begins; they are made when a thread waits for
/// them and all 128 have committed them. Until then the sums are poison, and what the operands hold
/// is not read.
class Products {
 public:
  explicit Products(RunningBlock& running) : running_(running) {}
  void begin_block();

  struct Operands {
    int columns;
    uint64_t a, b;  // descriptors
    bool has_registers, add;
    uint32_t registers[4];  // A's, of this thread
    WgmmaType type;
    int mn_major;
    const void* instruction;
  };
  void begin(float* d, const uint32_t* registers, const Operands& operands);
  void fence();
  void commit(const void* instruction);
  void wait(int pending, const void* instruction);
  /// The running thread touches memory of its own: a register that a product still uses?
  void local_access(uintptr_t address, size_t bytes, bool writes, const void* instruction);
  void thread_left(int thread);

 private:
  struct Sums {  // of one thread, while products add to them
    float* d;
    std::vector<float> values;
    size_t last;  // product that adds to them
    const void* instruction;
  };
  struct Product {
    Operands operands;
    Sums* sums;
    const uint32_t* registers;  // where A's lie
  };
  struct Array {  // of registers that products have used
    uintptr_t begin;
    size_t bytes;
    bool touched;  // since the last fence
  };
  struct Thread {
    std::deque<Product> queue;                     // that were not made
    size_t issued = 0, committed = 0, waited = 0;  // products, of the block's begin on
    std::deque<size_t> groups;  // where each ends; those that were not waited for
    std::list<Sums> sums;       // that were not handed back
    std::vector<Array> arrays;
    bool has_fenced = false;
  };
  struct Group {
    struct Issued {
      int threads = 0;
      Operands operands{};
      bool reads = false;  // its operands are being read
    };
    std::deque<Issued> issued;  // from number `made` on
    size_t made = 0;            // products
    std::vector<int> waiting;
    Knowledge done;  // who has waited for them knows this
  };
  Thread& of(int thread) { return threads_[static_cast<size_t>(thread)]; }
  Group& group_of(int thread) { return groups_[static_cast<size_t>(thread / kWarpgroup)]; }
  void use_array(Thread& self, const void* begin, size_t bytes, const void* instruction);
  void operands_read(int group, const Operands& operands, bool begins);
  bool all_committed(int group, size_t end) const;
  void make(int group, size_t end);
  void make_one(int group);

  RunningBlock& running_;
  std::vector<Thread> threads_;
  std::vector<Group> groups_;
  friend struct AtProducts;
};

/// bar.sync and bar.arrive of some threads.
class NamedBarriers {
 public:
  explicit NamedBarriers(RunningBlock& running) : running_(running) {}
  void begin_block();
  void come(int barrier, int threads, bool waits, const void* instruction);

 private:
  struct Barrier {
    int come = 0, wanted = 0;
    Knowledge knows;
    std::vector<int> waiting;
  };
  Barrier barriers_[16];
  RunningBlock& running_;
  friend struct AtNamedBarrier;
};

/// setmaxnreg.
class RegisterPool {
 public:
  explicit RegisterPool(RunningBlock& running) : running_(running) {}
  void begin_block() { of_.clear(); }
  void change(int count, bool more, const void* instruction);

 private:
  std::vector<int> of_;  // each thread
  int at_begin_ = 0, free_ = 0;
  std::vector<int> waiting_;
  RunningBlock& running_;
  friend struct AtRegisters;
};

}  // namespace simulator
