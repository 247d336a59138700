// What the launchers of this part look at and make before they launch.
#pragma once

#include <cstdint>

#include "common/kernel/fp8.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {

/// A and B as TMA takes them: themselves, or copies with rows that begin at multiples of 16 bytes.
struct Aligned {
  const e4m3 *A, *B;
  int64_t pitch;  // elements from a row to the next
};

/// Refuses what no step takes; and gives A and B, copied in the stream if need be.
Aligned for_tma(const char* step, const Fp8Product& product, const e4m3* A, const e4m3* B,
                Workspace workspace, cudaStream_t stream);

/// A kernel's parameters, but for the maps.
struct Problem {
  Scales scales;
  bf16* C;
  int M, N, K;
  bool stores_by_tma;  // rows of C begin at multiples of 16 bytes
};
Problem problem_of(const Fp8Product& product, Scales scales, bf16* C);

/// Is there nothing to add up? C is zeros then, or empty.
bool is_done_without(const Fp8Product& product, bf16* C, cudaStream_t stream);

/// The map of a matrix (rows, K), in boxes of `box_rows` rows and 128 elements of K.
CUtensorMap map_of(const e4m3* X, int64_t rows, int64_t K, int64_t pitch, int box_rows);

/// The map of C where TMA stores it; else `instead` stands in.
CUtensorMap map_of_c(const Fp8Product& product, const bf16* C, const CUtensorMap& instead);

/// Blocks of a launch: two for each cluster that has a tile of 256 × BN, as many as find a place.
unsigned blocks_of(const Fp8Product& product, int BN);

}  // namespace tutorial::tiled_matmul::fp8
