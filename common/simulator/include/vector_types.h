// CUDA's built-in vector types: plain structs with the alignment that vector loads rely on.
#pragma once

#include <cstdint>

#define SIMULATOR_VECTOR_TYPES(base, type, align2, align4)           \
  struct base##1 {                                                   \
    type x;                                                          \
  };                                                                 \
  struct alignas(align2) base##2 {                                   \
    type x, y;                                                       \
  };                                                                 \
  struct base##3 {                                                   \
    type x, y, z;                                                    \
  };                                                                 \
  struct alignas(align4) base##4 {                                   \
    type x, y, z, w;                                                 \
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

/// Extents of a grid or a block; what is not given is 1.
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
