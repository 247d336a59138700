// CUDA's built-in vector types: plain structs with the alignment that vector loads rely on.
#pragma once

#include <cstdint>

// A copy of one is one access of global or shared memory. GCC leaves it whole (-fno-tree-sra);
// Clang copies the members of a struct one by one, but not a vector.
#ifdef __clang__
#define SIMULATOR_WHOLE(name, type, members, copy_members)                            \
  using Whole __attribute__((vector_size(members * sizeof(type)), may_alias)) = type; \
  name() = default;                                                                   \
  __attribute__((always_inline)) constexpr name(const name& from) {                   \
    *this = from;                                                                     \
  }                                                                                   \
  __attribute__((always_inline)) constexpr name& operator=(const name& from) {        \
    if (__builtin_is_constant_evaluated() || sizeof(name) > 16)                       \
      copy_members;                                                                   \
    else                                                                              \
      *reinterpret_cast<Whole*>(this) = *reinterpret_cast<const Whole*>(&from);       \
    return *this;                                                                     \
  }
#define SIMULATOR_WHOLE_2(name, type)                      \
  SIMULATOR_WHOLE(name, type, 2, (x = from.x, y = from.y)) \
  constexpr name(type x, type y) : x(x), y(y) {}
#define SIMULATOR_WHOLE_4(name, type)                                              \
  SIMULATOR_WHOLE(name, type, 4, (x = from.x, y = from.y, z = from.z, w = from.w)) \
  constexpr name(type x, type y, type z = {}, type w = {}) : x(x), y(y), z(z), w(w) {}
#else
#define SIMULATOR_WHOLE_2(name, type)
#define SIMULATOR_WHOLE_4(name, type)
#endif

#define SIMULATOR_VECTOR_TYPES(base, type, align2, align4)           \
  struct base##1 {                                                   \
    type x;                                                          \
  };                                                                 \
  struct alignas(align2) base##2 {                                   \
    type x, y;                                                       \
    SIMULATOR_WHOLE_2(base##2, type)                                 \
  };                                                                 \
  struct base##3 {                                                   \
    type x, y, z;                                                    \
  };                                                                 \
  struct alignas(align4) base##4 {                                   \
    type x, y, z, w;                                                 \
    SIMULATOR_WHOLE_4(base##4, type)                                 \
  };                                                                 \
  constexpr base##1 make_##base##1(type x) {                         \
    return {x};                                                      \
  }                                                                  \
  constexpr base##2 make_##base##2(type x, type y) {                 \
    return {x, y};                                                   \
  }                                                                  \
  constexpr base##3 make_##base##3(type x, type y, type z) {         \
    return {x, y, z};                                                \
  }                                                                  \
  constexpr base##4 make_##base##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                             \
  }

SIMULATOR_VECTOR_TYPES(char, signed char, 2, 4)
SIMULATOR_VECTOR_TYPES(uchar, unsigned char, 2, 4)
SIMULATOR_VECTOR_TYPES(short, short, 4, 8)
SIMULATOR_VECTOR_TYPES(ushort, unsigned short, 4, 8)
SIMULATOR_VECTOR_TYPES(int, int, 8, 16)
SIMULATOR_VECTOR_TYPES(uint, unsigned int, 8, 16)
SIMULATOR_VECTOR_TYPES(long, long, 16, 16)
SIMULATOR_VECTOR_TYPES(ulong, unsigned long, 16, 16)
SIMULATOR_VECTOR_TYPES(longlong, long long, 16, 16)
SIMULATOR_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
SIMULATOR_VECTOR_TYPES(float, float, 8, 16)
SIMULATOR_VECTOR_TYPES(double, double, 16, 16)
#undef SIMULATOR_VECTOR_TYPES
#undef SIMULATOR_WHOLE_2
#undef SIMULATOR_WHOLE_4
#undef SIMULATOR_WHOLE

/// Extents of a grid or a block; what is not given is 1.
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
