// The program's part tensor_cores: C = A·B from bf16 numbers.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

/// Whatever type C has: a row that launches `launch`.
template <class Launch>
Row row_of(bool c_is_bf16, Row row, const Launch& launch) {
  if (c_is_bf16)
    row.launch_bf16 = [launch](bf16* C) { launch(Output(C)); };
  else
    row.launch = [launch](float* C) { launch(Output(C)); };
  return row;
}

}  // namespace

void run_steps(Chapter& chapter, const std::vector<Step<Launcher>>& steps, Symbols* symbols) {
  int64_t M, N, K;
  bool c_is_bf16 = false;
  chapter.size("--m", M, {.gpu = 4096, .cpu = 256}, "rows of A and C");
  chapter.size("--n", N, {.gpu = 4096, .cpu = 200}, "columns of B and C");
  chapter.size("--k", K, {.gpu = 4096, .cpu = 160}, "columns of A, rows of B");
  chapter.flag("--bf16-out", c_is_bf16, "C in bf16, too; else it is fp32");
  Input& input_a = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix, rounded to bf16");
  Input& input_b = chapter.input("b", {{"--k"}, {"--n"}}, "the right matrix, rounded to bf16");
  chapter.steps(steps);
  chapter.parse();
  const Output of_type = c_is_bf16 ? Output(static_cast<bf16*>(nullptr)) : Output();
  chapter.require_a_step(steps,
                         [&](Launcher* launch) { launch(nullptr, nullptr, of_type, 0, 0, 0); });

  const double m = M, n = N, k = K, bytes_of_c = c_is_bf16 ? 2 : 4;
  chapter.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                      shape_text({K, N}) + "], bf16 in, " + (c_is_bf16 ? "bf16" : "fp32") + " out",
                  {.flop = 2 * m * n * k,
                   .bytes = 2 * (m * k + k * n) + bytes_of_c * m * n,
                   .arithmetic = Arithmetic::bf16},
                  {M, N}, 2 * (m * k + k * n));
  chapter.say("A and B are rounded to bf16, to nearest even, and added up in fp32" +
              std::string(c_is_bf16 ? "; C is rounded to bf16" : ""));
  const std::vector<bf16> narrow_a = narrowed<bf16>(input_a.host()),
                          narrow_b = narrowed<bf16>(input_b.host());
  const DeviceBuffer<bf16> a(narrow_a), b(narrow_b);
  chapter.symbols(symbols(a.data(), b.data(), of_type, M, N, K));

  // The whole result where the host can afford a reference. Else some rows of it, from all over C,
  // and the others by their sums with random signs.
  const bool is_small = m * n * k <= 2e8;
  const std::vector<float> A = widened<bf16>(narrow_a), B = widened<bf16>(narrow_b);
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, chapter.seed());
  Expected want = reference(A, B, N, K, rows);
  if (c_is_bf16) want = in_bf16(std::move(want));
  // The bounds of reference.cpp as multiples of a fp32 sum's; |C| is at most Σ|a||b|.
  const double factor = (gamma_bound(3 * K + 4) + (c_is_bf16 ? 0x1.02p-8 : 0)) / gamma_bound(K + 1);
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    const Comparison some = compare_rows(got, want, rows, layout);
    if (!some.ok || is_small) return some;
    const Comparison sums = freivalds(A, B, got, M, N, K, chapter.seed(), layout, factor);
    return sums.ok ? some : sums;
  });

  for (const auto& step : steps) {
    if (!chapter.selected(step.name)) continue;
    chapter.run(row_of(c_is_bf16, {.name = step.name, .tile = step.tile, .needs = step.needs},
                       [&](Output C) { step.launch(a.data(), b.data(), C, M, N, K); }));
  }
  const CublasHandle handle;
  chapter.vendor(row_of(c_is_bf16, {.name = "cuBLAS"}, [&](Output C) {
    std::visit([&](auto* to) { row_major_gemm(handle, M, N, K, a.data(), b.data(), to); }, C);
  }));
}

void body(Chapter& chapter) {
  run_steps(chapter, steps, symbols_of);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
