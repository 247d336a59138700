// An array of which most elements are never touched: they are zero, and take no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/world/pages.hpp"

namespace simulator {

/// Elements that lie in one aligned group of kTogether are neighbours. For ever: it is not freed.
template <class T>
class SparseArray {
 public:
  static constexpr size_t kTogether = 1024;

#ifdef __wasm__  // where a span of addresses is memory
  SparseArray(size_t elements, const char*) : groups_(elements / kTogether) {}
  T& operator[](size_t at) {
    T*& group = groups_[at / kTogether];
    if (group == nullptr) group = new T[kTogether]();
    return group[at % kTogether];
  }

 private:
  std::vector<T*> groups_;
#else
  SparseArray(size_t elements, const char* what)
      : elements_(reinterpret_cast<T*>(map_pages(elements * sizeof(T), what))) {}
  T& operator[](size_t at) {
    return elements_[at];
  }

 private:
  T* const elements_;
#endif
};

}  // namespace simulator
