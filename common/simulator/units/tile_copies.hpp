// Copies of tiles by the TMA unit (common/kernel/tma.cuh).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "common/simulator/units/tensor_map.hpp"

namespace simulator {

class RunningBlock;
struct Mbarrier;

class TileCopies {
 public:
  explicit TileCopies(RunningBlock& running) : running_(running) {}
  void begin_block();

  /// `blocks`: a bit for each block of the cluster that gets the tile; 0: this one.
  void load(void* to, const void* map, uint64_t* barrier, const int* at, int dimensions,
            unsigned blocks, const void* instruction);
  void store(const void* map, const void* from, const int* at, int dimensions,
             const void* instruction);
  /// Stores `count` numbers of shared memory at `to`, in global memory, or adds them to those
  /// there.
  void store_or_add(bool add, float* to, const float* from, int count, const void* instruction);
  void commit();
  /// All but the running thread's last groups have read their tiles, or also stored them.
  void wait(int pending, bool only_read);
  /// Loads for whose barriers somebody waits come. Were there any?
  bool land();
  void thread_left(int thread);
  void end_block();

 private:
  struct Tile {
    TensorMapImage map;
    int at[5];
    uintptr_t shared;
    const void* instruction;
  };
  struct Load {
    Tile tile;
    Mbarrier* barrier;
  };
  struct Store {
    Tile tile;
    std::vector<unsigned char> bytes;  // once it has read them
    bool has_read = false;
    // Of store_or_add(), where the tile's map says nothing:
    float* numbers = nullptr;
    size_t size = 0;  // bytes
    bool add = false;
  };
  struct Thread {
    std::vector<Store> open;  // since the last commit
    std::deque<std::vector<Store>> groups;
  };
  Tile tile_of(const void* map, const int* at, int dimensions, uintptr_t shared, const char* what,
               const void* instruction);
  void begin(const Tile& tile, uint64_t* barrier);
  void begin_in(RunningBlock& other, const Tile& tile, uint64_t* barrier);
  void require_shown(RunningBlock& owner, const Mbarrier& barrier, const void* instruction);
  void land(const Load& load);
  void read(Store& store);
  void write(const Store& store);
  void write_numbers(const Store& store);
  void count(const Tile& tile, bool is_store);
  Thread& running();

  RunningBlock& running_;
  std::vector<Load> loads_;
  std::vector<Thread> threads_;
};

}  // namespace simulator
