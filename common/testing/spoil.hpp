// For the stand-ins in a chapter's program (tests/stand_in.cpp): a right result becomes a wrong
// one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "common/kernel/check.hpp"

namespace tutorial {

/// Adds to elements of `result`, which is in global memory, as the environment says:
/// SPOIL="first count by" adds `by` to `count` elements from number `first` on. Null is no result:
/// the program asks with an empty problem whether a launcher refuses.
inline void spoil(float* result) {
  const char* wanted = std::getenv("SPOIL");
  if (wanted == nullptr || result == nullptr) return;
  std::istringstream words(wanted);
  int64_t first = 0, count = 0;
  float by = 0;
  words >> first >> count >> by;
  std::vector<float> part(static_cast<size_t>(count));
  const size_t bytes = part.size() * sizeof(float);
  CUDA_CHECK(cudaMemcpy(part.data(), result + first, bytes, cudaMemcpyDeviceToHost));
  for (float& value : part) value += by;
  CUDA_CHECK(cudaMemcpy(result + first, part.data(), bytes, cudaMemcpyHostToDevice));
}

}  // namespace tutorial
