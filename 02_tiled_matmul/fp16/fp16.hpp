// Part fp16 of chapter 02: C = A·B on the tensor cores of compute capability 7.5, from fp16
// numbers.
//
//   A is M×K, B is K×N, C is M×N: row-major without gaps, so A[i][k] is A[i * K + k]. A and B are
//   fp16, sums are fp32, and C is fp32 or fp16, as the caller likes.
//
// Those tensor cores (a T4's, an RTX 20's) take no bf16, and their GPUs have no asynchronous copies
// and 64 KB of shared memory. Newer GPUs run all of this, too. The words for tiles, the reference
// and its bound are those of part tensor_cores.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial::tiled_matmul::fp16 {

/// The road's last step: step 1 takes its tiles to tensor cores.
inline constexpr const char* after = "pipelined";

/// C = A·B, of any sizes >= 0.
struct HalfProduct {
  int64_t M = 0, N = 0, K = 0;
};

/// Where C goes, and with it the type of its elements: a __half is the sum rounded to nearest even,
/// and infinite from 65520 on.
using HalfOutput = std::variant<float*, __half*>;

/// Computes C = A·B in a stream. All three are in global memory, at any address that a pointer of
/// their type can have, and C overlaps neither input. An empty C is left alone, K = 0 gives zeros.
/// No step uses the workspace. Waits for nothing. Throws Error, before any launch and for an empty
/// C too, for a size below 0, and on a device older than 7.5.
using Launcher = void(const HalfProduct& product, const __half* A, const __half* B, HalfOutput C,
                      Workspace workspace, cudaStream_t stream);

Launcher wmma, fragments, registers_ahead;

/// In tiles of 128 × 128 elements of C: each reads its rows of A and its columns of B.
inline std::vector<Asked> by_tiles(const HalfProduct& s, const __half*, const __half*, HalfOutput C,
                                   Workspace, cudaStream_t) {
  const int64_t E = std::holds_alternative<float*>(C) ? 4 : 2;  // bytes of an element of C
  return {{.loads = 2 * s.K * (s.M * ceil_div(s.N, 128) + s.N * ceil_div(s.M, 128)),
           .stores = E * s.M * s.N}};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "wmma",
     .launch = wmma,
     .asked = by_tiles,
     .idea = "a warp multiplies 16×16×16 elements in one call, as CUDA's guide shows it",
     .tile = tile_in_any_order(128, 128)},
    {.name = "fragments",
     .launch = fragments,
     .asked = by_tiles,
     .idea = "the instruction itself, 8 deep, with fragments that ldmatrix reads without conflicts",
     .tile = tile_in_any_order(128, 128)},
    {.name = "registers_ahead",
     .launch = registers_ahead,
     .asked = by_tiles,
     .idea = "the next tile comes into registers while this one is multiplied",
     .tile = tile_in_any_order(128, 128)},
};

}  // namespace tutorial::tiled_matmul::fp16
