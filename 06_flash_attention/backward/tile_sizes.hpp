// How large the tiles of steps 2 to 7 are on the device at hand: for their launchers, and for
// what the host has to know of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kernel/shared_memory.hpp"

namespace tutorial::flash_attention::backward {

/// Of steps 2 and 3: SIZE queries by as many keys. D is the head size, padded with zeros. TX by TY
/// threads have R by C pairs each, and D_COLS columns of R rows of the sums.
template <int HEAD_SIZE, int OF_EITHER>
struct SquareSizes {
  static constexpr int D = HEAD_SIZE, SIZE = OF_EITHER, ROWS = SIZE, COLS = SIZE, STRIDE = D + 1;
  static constexpr int TX = 16, TY = 16, THREADS = TX * TY;
  static constexpr int R = ROWS / TY, C = COLS / TX, D_COLS = D / TX;
  static constexpr int64_t BYTES = int64_t{sizeof(float)} * SIZE * (4 * STRIDE + 2 * (SIZE + 1));
};

/// From step 4 on: ROWS keys by COLS queries, or the other way round. Rows of W have 16 floats more
/// than they need: 8 lanes store 16 bytes each, in two rows.
template <int HEAD_SIZE, int OF_ROWS, int OF_COLS, int ACROSS>
struct PairSizes {
  static constexpr int D = HEAD_SIZE, ROWS = OF_ROWS, COLS = OF_COLS;
  static constexpr int TX = ACROSS, TY = 16, THREADS = TX * TY;
  static constexpr int R = ROWS / TY, C = COLS / TX, D_COLS = D / TX;
  static constexpr int STRIDE = D + 4, W_STRIDE = COLS + 16;
  static constexpr int QUERIES = std::max(ROWS, COLS);  // at most
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (2 * (ROWS + COLS) * STRIDE + ROWS * W_STRIDE + 2 * QUERIES);
};

/// Calls launch with the sizes for a head size up to 64, or up to 128: the first that fit.
template <class Launch>
void with_square_sizes(int64_t HS, const Launch& launch) {
  const int64_t limit = shared_memory_limit();
  if (HS <= 64)
    with_first_that_fits<SquareSizes<64, 32>>(limit, launch);
  else
    with_first_that_fits<SquareSizes<128, 32>, SquareSizes<128, 16>>(limit, launch);
}

/// The same from step 4 on. The tiles are for 227 KB, 163 KB, 99 KB and 64 KB.
template <class Launch>
void with_pair_sizes(int64_t HS, const Launch& launch) {
  const int64_t limit = shared_memory_limit();
  if (HS <= 64)
    with_first_that_fits<PairSizes<64, 128, 128, 16>, PairSizes<64, 128, 64, 16>,
                         PairSizes<64, 64, 64, 16>, PairSizes<64, 64, 32, 8>>(limit, launch);
  else
    with_first_that_fits<PairSizes<128, 96, 64, 16>, PairSizes<128, 64, 64, 16>,
                         PairSizes<128, 48, 32, 8>, PairSizes<128, 16, 32, 8>>(limit, launch);
}

/// What the rest of the host asks: the keys or queries of a block of steps 2 and 3,
inline int square_size(int64_t HS) {
  int size = 0;
  with_square_sizes(HS, [&]<class Sizes>() { size = Sizes::SIZE; });
  return size;
}
/// those of a block from step 4 on, and how many of the others it takes at a time.
inline int tile_rows(int64_t HS) {
  int rows = 0;
  with_pair_sizes(HS, [&]<class Sizes>() { rows = Sizes::ROWS; });
  return rows;
}
inline int tile_cols(int64_t HS) {
  int cols = 0;
  with_pair_sizes(HS, [&]<class Sizes>() { cols = Sizes::COLS; });
  return cols;
}

}  // namespace tutorial::flash_attention::backward
