// Part strips of chapter 05: the causal half only.
//
// Half of S is masked, and the chapter's steps compute all of it. Here the queries are cut into
// strips, and a strip is multiplied with the keys before its end: none of its queries sees any
// later key. The steps go on from the chapter's row_in_registers, and have its kernel.
//
// An infinite or NaN v spoils fewer queries than in the chapter: a query in strip s is multiplied
// with the keys before the end of strip s and with no other.
#pragma once

#include <memory>
#include <vector>

#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention::strips {

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "row_in_registers";

// ---- how the queries are cut (cut.cpp)

struct Cut {
  int64_t height = 0;   // queries of a strip; the last strip may have fewer
  int64_t streams = 1;  // strips under way at once
};
/// The rule: strips of 128 queries or a multiple, so high that all heads together have 24576 rows
/// or more; of 12288, where `most_streams` allows several strips at once, which keep a GPU busy
/// together. Attention::strip_height says otherwise. Without a mask there is one strip.
Cut cut_of(const Attention& attention, int64_t most_streams);

/// From the first to the last.
std::vector<Strip> strips_of(const Attention& attention, const Cut& cut);

/// The stream that a strip is on: 0 1 2 3, then 3 2 1 0, and so on, since later strips have more
/// keys.
__host__ __device__ inline int64_t stream_of(int64_t strip, int64_t streams) {
  const int64_t place = strip % streams;
  return strip / streams % 2 == 0 ? place : streams - 1 - place;
}

/// Where in preatt a stream has its strip's scores: it has room for the highest and longest.
inline int64_t scores_of(const Attention& attention, const Cut& cut, int64_t stream) {
  return stream * attention.heads() * cut.height * attention.T;
}

// ---- what the part adds to the workspace

/// A stream with a cuBLAS handle of its own: what is put on one waits for nothing on another.
struct StripStream {
  explicit StripStream(Precision precision);
  ~StripStream();
  StripStream(const StripStream&) = delete;
  StripStream& operator=(const StripStream&) = delete;
  void begin();  // what follows on this stream waits for what the default stream was given so far
  void end();    // what follows on the default stream waits for this one

  CublasHandle blas;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
};

struct Resources {
  DeviceBuffer<float*> pointers;                      // (6, strips, B·NH)
  std::vector<std::unique_ptr<StripStream>> streams;  // of step 2
};
/// The workspace's; made by the first call.
Resources& resources(StageWorkspace& workspace);

/// Where each head's matrices begin, for each strip (locate.cu). Weights lie where scores do.
std::vector<HeadPointers> locate_strips(const Attention& attention, const Cut& cut,
                                        const float* qkv, StageWorkspace& workspace, float* out);

// ---- the steps: out (B, T, C) from qkv (B, T, 3, NH, HS), as the chapter's

Launcher causal_strips, overlapped_strips;

Asks<Launcher> causal_strips_asks, overlapped_strips_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "causal_strips",
     .launch = causal_strips,
     .asked = causal_strips_asks,
     .idea = "strips of queries, with the keys that they can see"},
    {.name = "overlapped_strips",
     .launch = overlapped_strips,
     .asked = overlapped_strips_asks,
     .idea = "four strips at once, each on a stream"},
};

/// Of overlapped_strips. Tried: 2, 3 and 8 are slower (docs/notes/05.md).
inline constexpr int64_t MOST_STREAMS = 4;

/// How a step cuts.
inline Cut cut_of(const Attention& attention, const Step<Launcher>& step) {
  return cut_of(attention, step.launch == overlapped_strips ? MOST_STREAMS : 1);
}

}  // namespace tutorial::unfused_attention::strips
