// What a thread of a block waits for, when it is neither a barrier of the whole block nor an
// operation of its warp.
#pragma once

#include <string>

namespace simulator {

struct Waiting {
  const void* instruction = nullptr;  // where the call returns to
  virtual ~Waiting() = default;
  /// "barrier full[1], …", for a report that nobody can go on.
  virtual std::string what() const = 0;
  /// How much it tells why nobody goes on: of several the one that tells most is the likely cause.
  virtual int weight() const { return 2; }
  /// "  likely: …\n"
  virtual std::string likely() const = 0;
};

}  // namespace simulator
