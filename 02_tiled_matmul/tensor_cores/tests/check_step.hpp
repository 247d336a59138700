// For the tests of this part and of parts hopper and fp16: a step against the reference.
#pragma once

#include "common/measure/row_major_blas.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/borders.hpp"
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

struct Shape {
  int64_t M, N, K;
};

// How far A, B and C begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

/// No whole tile, few elements of K, rows that begin anywhere, one row, nothing.
inline const std::vector<Shape> shapes_at_edges = {
    {20, 40, 2},   {24, 24, 8},   // K less than one instruction's
    {9, 8, 16},    {9, 24, 200},  // K of several tiles and a tail
    {30, 41, 301},                // … whose rows begin anywhere
    {30, 41, 104},                // rows of A allow 16-byte accesses, rows of B do not
    {30, 48, 101},                // … and the other way round
    {1, 130, 7},   {130, 1, 7},   // one row, one column
    {1, 1, 1},     {0, 5, 3},    {5, 0, 3}, {0, 0, 0}, {5, 35, 0}};

/// check(shape, offsets): addresses of every alignment, of each matrix and of all.
template <class Check>
void check_addresses(const Check& check) {
  for (int64_t offset : {1, 2, 4, 7}) {
    const Shape shape = {12, 24, 16};  // rows that would allow 16-byte accesses
    check(shape, Offsets{.a = offset});
    check(shape, Offsets{.b = offset});
    check(shape, Offsets{.c = offset});
    check({13, 19, 11}, Offsets{offset, offset, offset});
  }
}

/// check(shape, A, B), of numbers that T has: NaN for 0 times infinity, and infinity for others.
/// The products are those of A and B alone: not of what fills up a tile, nor are any left out.
template <class T, class Check>
void check_zero_times_infinity(const Check& check) {
  for (const Shape& shape : {Shape{5, 6, 11}, {5, 8, 24}}) {
    const auto [M, N, K] = shape;
    std::vector<float> A = rounded_to<T>(make_values({M, K}, Init::normal, 1));
    std::vector<float> B = rounded_to<T>(make_values({K, N}, Init::normal, 2));
    A[1 * K + 2] = 0, B[2 * N + 3] = INFINITY;     // C[1][3]; else infinite in column 3
    A[4 * K + 10] = -INFINITY, B[10 * N + 5] = 0;  // C[4][5]; else infinite in row 4
    const Expected want = reference(A, B, N, K, all_rows(M));
    for (int64_t i = 0; i < M * N; ++i)
      CHECK(std::isfinite(want.value[i]) == (i / N != 4 && i % N != 3));
    check(shape, A, B);
  }
}

inline std::vector<float> bf16_values(std::vector<int64_t> shape, uint64_t seed) {
  return rounded_to<bf16>(make_values(shape, Init::normal, seed));
}

/// Does the step need more shared memory than the device has?
inline bool is_too_large_here(const Step<Launcher>& step) {
  return is_device_too_small(step.name,
                             [&] { step.launch({}, nullptr, nullptr, Output(), {}, nullptr); });
}

/// How many bytes the workspace gets: as many as the part's steps use, unless a test says less.
using WorkspaceBytes = int64_t(const Bf16Product& product, const bf16* A, const bf16* B);

/// Launches the step for both types of C and compares with the reference.
inline void check_step(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                       const std::vector<float>& B, Offsets offsets = {},
                       WorkspaceBytes* bytes_of = workspace_bytes) {
  if (!is_in_sample(step.name)) return;
  if (is_too_large_here(step)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const DeviceBuffer<bf16> a(narrowed<bf16>(A), offsets.a), b(narrowed<bf16>(B), offsets.b);
  DeviceBuffer<std::byte> memory(bytes_of({M, N, K}, a.data(), b.data()));
  const auto launch = [&](Output C) {
    memory.poison();
    step.launch({M, N, K}, a.data(), b.data(), C, workspace_in(memory), nullptr);
  };
  const Expected want = reference(A, B, N, K, all_rows(M));
  const Layout layout = {.rows = M, .cols = N, .tile = step.tile};
  check_launch([&](float* C) { launch(C); }, want, layout, offsets.c);
  INFO("C in bf16");
  check_launch([&](bf16* C) { launch(C); }, in_bf16(want), layout, offsets.c);
}

inline void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {},
                       WorkspaceBytes* bytes_of = workspace_bytes) {
  check_step(step, shape, bf16_values({shape.M, shape.K}, 1), bf16_values({shape.K, shape.N}, 2),
             offsets, bytes_of);
}

/// The step on both sides of the borders of its rules, where it launches other kernels. N and K are
/// multiples of `unit`; the device has so few multiprocessors that the borders lie where there is
/// little to multiply.
inline void check_borders(const Step<Launcher>& step, int64_t unit, const Sizes<3>& most,
                          int multiprocessors, double most_work,
                          WorkspaceBytes* bytes_of = workspace_bytes) {
  if (is_too_large_here(step)) return;
  const FewMultiprocessors few(multiprocessors);
  const auto choice = [&](const Sizes<3>& sizes) {
    const auto [M, n, k] = sizes;
    auto* const nowhere = reinterpret_cast<bf16*>(uintptr_t{256});
    return kernels_of([&] {
      step.launch({M, n * unit, k * unit}, nowhere, nowhere, nowhere, {nowhere, INT64_MAX},
                  nullptr);
    });
  };
  const auto work = [=](const Sizes<3>& sizes) {
    const auto [M, n, k] = sizes;
    return static_cast<double>((M + 32) * (n * unit + 32) * (k * unit + 32));
  };
  for (const auto& [M, n, k] : border_shapes<3>({1, 1, 1}, most, choice, work, most_work))
    check_step(step, {M, n * unit, k * unit}, {}, bytes_of);
}

/// The launches of a step in two streams, for a shape and both types of C.
inline void check_step_in_two_streams(const Step<Launcher>& step, Shape shape,
                                      WorkspaceBytes* bytes_of = workspace_bytes) {
  if (is_too_large_here(step) || !is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  CAPTURE(step.name, M, N, K);
  const DeviceBuffer<bf16> a(narrowed<bf16>(bf16_values({M, K}, 1)));
  const DeviceBuffer<bf16> b(narrowed<bf16>(bf16_values({K, N}, 2)));
  const int64_t bytes = bytes_of({M, N, K}, a.data(), b.data());
  const auto launch = [&](Output C, Workspace workspace, cudaStream_t stream) {
    step.launch({M, N, K}, a.data(), b.data(), C, workspace, stream);
  };
  check_in_two_streams<float>(M * N, bytes, launch);
  check_in_two_streams<bf16>(M * N, bytes, launch);
}

/// For both types of C, with a workspace and without: what the step asks global memory for is what
/// its entry says.
/// `more` looks at what the step did, too.
inline void check_step_asks(const Step<Launcher>& step, Shape shape,
                            WorkspaceBytes* bytes_of = workspace_bytes,
                            const std::function<void(const Counts&, Output)>& more = {}) {
  const auto [M, N, K] = shape;
  CAPTURE(step.name, M, N, K);
  const DeviceBuffer<bf16> a(narrowed<bf16>(bf16_values({M, K}, 1)));
  const DeviceBuffer<bf16> b(narrowed<bf16>(bf16_values({K, N}, 2)));
  DeviceBuffer<float> c(M * N);
  DeviceBuffer<bf16> narrow_c(M * N);
  DeviceBuffer<std::byte> memory(bytes_of({M, N, K}, a.data(), b.data()));
  const Bf16Product product = {M, N, K};
  for (Output C : {Output(c.data()), Output(narrow_c.data())})
    for (Workspace workspace : {workspace_in(memory), Workspace()}) {
      const Counts counts = check_asked_for(
          step, [&](auto run) { return run(product, a.data(), b.data(), C, workspace, nullptr); });
      if (more) more(counts, C);
    }
}

/// The vendor's product, as a launcher, in the default stream.
inline void cublas(const Bf16Product& x, const bf16* A, const bf16* B, Output C, Workspace,
                   cudaStream_t) {
  static const CublasHandle handle;
  std::visit([&](auto* to) { row_major_gemm(handle, x.M, x.N, x.K, A, B, to); }, C);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
