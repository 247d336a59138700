// The shape of a `__shared__` array, so that a report can say As[3][17]. The translator adds a call
// of declare_shared() after each declaration.
#pragma once

#include <cstddef>
#include <type_traits>

#include "element_type.h"

namespace simulator {

struct SharedShape {
  size_t element = 0;      // its size in bytes
  int rank = 0;            // 0: a single variable
  size_t extents[4] = {};  // of the first dimensions; 0: not known
  ElementType type = {};
};

template <class T, int RANK = 0>
constexpr SharedShape shape_of() {
  if constexpr (std::is_array_v<T> && RANK < 4) {
    SharedShape shape = shape_of<std::remove_extent_t<T>, RANK + 1>();
    shape.extents[RANK] = std::extent_v<T>;
    return shape;
  } else {
    return {sizeof(T), RANK, {}, element_type<T>()};
  }
}
template <class T>
inline constexpr SharedShape kShape = shape_of<T>();

void declare_shared_array(const char* name, const volatile void* array, size_t bytes,
                          const SharedShape& shape, const volatile void* gap);
/// The running block has come to the declaration of this array. `gap` is memory that the translator
/// puts beside each array, so that a small step out of one does not end in the next.
template <class T, class Gap>
void declare_shared(const char* name, const T& array, const Gap& gap) {
  declare_shared_array(name, &array, sizeof(T), kShape<T>, &gap);
}

}  // namespace simulator
