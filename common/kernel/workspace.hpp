// Global memory that comes with a launch, for what the launch has to keep: parts of sums, copies
// with aligned rows, tickets.
#pragma once

#include <cstdint>
#include <string>

#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial {

/// Memory of the caller's, as cublasSetWorkspace() takes it. A launch uses it as it likes, until
/// its work in the stream is done; two launches that may run at the same time have one each. It
/// begins at a multiple of 16 bytes, and what it holds before means nothing.
struct Workspace {
  void* memory = nullptr;
  int64_t bytes = 0;

  /// How many bytes take() takes for `count` elements: a multiple of 16.
  template <class T>
  static int64_t bytes_of(int64_t count) {
    return ceil_div(count * int64_t{sizeof(T)}, 16) * 16;
  }

  /// The next `count` elements of what is left, at a multiple of 16 bytes. Takes nothing, and is
  /// nullptr, where too little is left.
  template <class T>
  T* take(int64_t count) {
    if (bytes_of<T>(count) > bytes) return nullptr;
    T* const taken = static_cast<T*>(memory);
    memory = static_cast<unsigned char*>(memory) + bytes_of<T>(count);
    bytes -= bytes_of<T>(count);
    return taken;
  }
};

/// Throws Error unless the workspace has `needed` bytes, which workspace_bytes() says.
inline void require_workspace(const Workspace& workspace, int64_t needed, const char* step) {
  if (workspace.bytes < needed)
    throw Error(std::string(step) + " needs a workspace of " + std::to_string(needed) +
                " bytes for this problem and was given " + std::to_string(workspace.bytes) +
                ": give it as many as workspace_bytes() says.");
}

}  // namespace tutorial
