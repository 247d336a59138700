// CUDA's own matrix products on tensor cores (CUDA C++ Programming Guide, "Warp Matrix Functions"),
// for elements of 16 bits. Which lane holds which element of a fragment is not specified; here it
// is as for ldmatrix and mma (common/kernel/mma.cuh), 8 × 8 elements after 8 × 8 elements.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace simulator {

/// A lane's part of a fragment: `elements` of a matrix of rows × columns.
struct Fragment {
  enum Type : unsigned char { kHalf, kBfloat16, kFloat };
  void* x;
  Type type;
  short rows, columns, elements;
  bool row_major;  // neighbours in a register are neighbours in a row
};

// All 32 lanes of a warp come to these together (wmma.cpp).
void wmma_load(const Fragment& to, const void* from, unsigned stride, bool row_major);
void wmma_store(void* to, const Fragment& from, unsigned stride, bool row_major);
void wmma_multiply(const Fragment& d, const Fragment& a, const Fragment& b, const Fragment& c);

}  // namespace simulator

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

// What there is on a GPU besides: a fragment of one of these is refused where it is declared.
namespace precision {
struct tf32;
}
namespace experimental::precision {
struct u4;
struct s4;
struct b1;
}  // namespace experimental::precision
/// What a program reads and writes.
template <class T>
using ElementOf =
    std::conditional_t<std::is_arithmetic_v<T> || std::is_same_v<T, __half> ||
                           std::is_same_v<T, __nv_bfloat16>,
                       T, std::conditional_t<std::is_same_v<T, precision::tf32>, float, int>>;

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  static constexpr bool kIsA = std::is_same_v<Use, matrix_a>, kIsB = std::is_same_v<Use, matrix_b>;
  static constexpr bool kIsHalf = std::is_same_v<T, __half>;
  static constexpr bool kIsBfloat16 = std::is_same_v<T, __nv_bfloat16>;
  static constexpr bool kIsRowMajor = std::is_same_v<Layout, row_major>;
  static constexpr int kRows = kIsB ? k : m, kColumns = kIsA ? k : n;
  static constexpr bool kHasShape =
      k == 16 && (m == 16 ? n == 16 : m * n == 256 && (m == 8 || n == 8));
  static constexpr bool kIsHere =
      kHasShape && (kIsA || kIsB ? kIsHalf || kIsBfloat16 : kIsHalf || std::is_same_v<T, float>);
  static_assert((kIsA || kIsB) == (kIsRowMajor || std::is_same_v<Layout, col_major>),
                "matrix_a and matrix_b are row_major or col_major, an accumulator is neither");

 public:
  fragment() requires(kIsHere) = default;
  __attribute__((
      error("the CPU backend has wmma of __half and __nv_bfloat16, added up in float or __half, in "
            "the shapes 16x16x16, 32x8x16 and 8x32x16"))) fragment() requires(!kIsHere);

  using element_type = ElementOf<T>;
  using storage_element_type = element_type;
  // As on a GPU, where some elements of __half are held by several lanes.
  enum { num_elements = (kIsA || kIsB) && kIsHalf ? 16 : kRows * kColumns / 32 };
  enum { num_storage_elements = num_elements };
  element_type x[num_elements];

  simulator::Fragment simulated() const {
    using Kind = simulator::Fragment;
    return {const_cast<element_type*>(x),
            kIsHalf       ? Kind::kHalf
            : kIsBfloat16 ? Kind::kBfloat16
                          : Kind::kFloat,
            kRows,
            kColumns,
            num_elements,
            kIsRowMajor || !(kIsA || kIsB)};
  }
};

template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, m, n, k, T, Layout>& to,
                                   const std::type_identity_t<ElementOf<T>>& value) {
  for (ElementOf<T>& element : to.x) element = value;
}

// Inlined, so that a report names the kernel's line.
template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to,
                                      const std::type_identity_t<ElementOf<T>>* from,
                                      unsigned stride) {
  static_assert(!std::is_void_v<Layout>, "of an accumulator the layout is to be named");
  simulator::wmma_load(to.simulated(), from, stride, std::is_same_v<Layout, row_major>);
}
template <int m, int n, int k, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, T>& to,
                                      const std::type_identity_t<ElementOf<T>>* from,
                                      unsigned stride, layout_t layout) {
  simulator::wmma_load(to.simulated(), from, stride, layout == mem_row_major);
}
template <int m, int n, int k, class T>
__forceinline__ void store_matrix_sync(std::type_identity_t<ElementOf<T>>* to,
                                       const fragment<accumulator, m, n, k, T>& from,
                                       unsigned stride, layout_t layout) {
  simulator::wmma_store(to, from.simulated(), stride, layout == mem_row_major);
}

template <int m, int n, int k, class D, class T, class LayoutA, class LayoutB, class C>
__forceinline__ void mma_sync(fragment<accumulator, m, n, k, D>& d,
                              const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                              const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                              const fragment<accumulator, m, n, k, C>& c) {
  static_assert(
      !std::is_same_v<T, __nv_bfloat16> || (std::is_same_v<C, float> && std::is_same_v<D, float>),
      "products of __nv_bfloat16 are added up in float");
  simulator::wmma_multiply(d.simulated(), a.simulated(), b.simulated(), c.simulated());
}

}  // namespace nvcuda::wmma
