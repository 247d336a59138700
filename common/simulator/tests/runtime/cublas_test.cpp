// The part of cuBLAS that the chapters use. On a GPU this tests our understanding of cuBLAS; on the
// CPU that the simulator's version does the same.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/random.hpp"
#include "common/kernel/check.hpp"

using tutorial::DeviceBuffer;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Handle {
  Handle() { CUBLAS_CHECK(cublasCreate(&handle)); }
  ~Handle() { cublasDestroy(handle); }
  operator cublasHandle_t() const { return handle; }
  cublasHandle_t handle = nullptr;
};

/// C = alpha·op(A)·op(B) + beta·C, column-major, as cuBLAS has it. `gap` is added to each leading
/// dimension.
struct Problem {
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  int m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  int gap = 0;
  int batch = 1;
  bool share_a = false;  // stride 0

  int a_rows() const { return transa == CUBLAS_OP_N ? m : k; }
  int b_rows() const { return transb == CUBLAS_OP_N ? k : n; }
  int lda() const { return std::max(1, a_rows()) + gap; }
  int ldb() const { return std::max(1, b_rows()) + gap; }
  int ldc() const { return std::max(1, m) + gap; }
  int64_t stride_a() const { return share_a ? 0 : int64_t{lda()} * (m + k - a_rows()); }
  int64_t stride_b() const { return int64_t{ldb()} * (k + n - b_rows()) + gap; }
  int64_t stride_c() const { return int64_t{ldc()} * n + gap; }
  int64_t size_a() const { return (batch - 1) * stride_a() + int64_t{lda()} * (m + k - a_rows()); }
};

struct Data {
  explicit Data(const Problem& p)
      : a(tutorial::make_values({p.size_a()}, tutorial::Init::uniform, 1)),
        b(tutorial::make_values({p.batch * p.stride_b()}, tutorial::Init::uniform, 2)),
        c(tutorial::make_values({p.batch * p.stride_c()}, tutorial::Init::uniform, 3)) {}
  std::vector<float> a, b, c;
};

using Routine = std::function<cublasStatus_t(const Problem&, const float*, const float*, float*)>;

Routine sgemm(cublasHandle_t handle) {
  return [=](const Problem& p, const float* A, const float* B, float* C) {
    return cublasSgemm(handle, p.transa, p.transb, p.m, p.n, p.k, &p.alpha, A, p.lda(), B, p.ldb(),
                       &p.beta, C, p.ldc());
  };
}
Routine sgemm_batched(cublasHandle_t handle) {
  return [=](const Problem& p, const float* A, const float* B, float* C) {
    return cublasSgemmStridedBatched(handle, p.transa, p.transb, p.m, p.n, p.k, &p.alpha, A,
                                     p.lda(), p.stride_a(), B, p.ldb(), p.stride_b(), &p.beta, C,
                                     p.ldc(), p.stride_c(), p.batch);
  };
}
Routine gemm_ex(cublasHandle_t handle, cublasComputeType_t compute) {
  return [=](const Problem& p, const float* A, const float* B, float* C) {
    return cublasGemmEx(handle, p.transa, p.transb, p.m, p.n, p.k, &p.alpha, A, CUDA_R_32F, p.lda(),
                        B, CUDA_R_32F, p.ldb(), &p.beta, C, CUDA_R_32F, p.ldc(), compute,
                        CUBLAS_GEMM_DEFAULT);
  };
}
Routine gemm_batched_ex(cublasHandle_t handle, cublasComputeType_t compute) {
  return [=](const Problem& p, const float* A, const float* B, float* C) {
    return cublasGemmStridedBatchedEx(handle, p.transa, p.transb, p.m, p.n, p.k, &p.alpha, A,
                                      CUDA_R_32F, p.lda(), p.stride_a(), B, CUDA_R_32F, p.ldb(),
                                      p.stride_b(), &p.beta, C, CUDA_R_32F, p.ldc(), p.stride_c(),
                                      p.batch, compute, CUBLAS_GEMM_DEFAULT);
  };
}

/// The same through lists of pointers. They are in global memory, so the call is waited for.
Routine gemm_pointers_ex(cublasHandle_t handle, cublasComputeType_t compute) {
  return [=](const Problem& p, const float* A, const float* B, float* C) {
    std::vector<const void*> at_a, at_b;
    std::vector<void*> at_c;
    for (int i = 0; i < p.batch; ++i) {
      at_a.push_back(A + i * p.stride_a());
      at_b.push_back(B + i * p.stride_b());
      at_c.push_back(C + i * p.stride_c());
    }
    const DeviceBuffer<const void*> list_a(at_a), list_b(at_b);
    const DeviceBuffer<void*> list_c(at_c);
    const cublasStatus_t status = cublasGemmBatchedEx(
        handle, p.transa, p.transb, p.m, p.n, p.k, &p.alpha, list_a.data(), CUDA_R_32F, p.lda(),
        list_b.data(), CUDA_R_32F, p.ldb(), &p.beta, list_c.data(), CUDA_R_32F, p.ldc(), p.batch,
        compute, CUBLAS_GEMM_DEFAULT);
    CUDA_CHECK(cudaDeviceSynchronize());
    return status;
  };
}

struct Outcome {
  bool within = true;         // every element within its bound, and the gaps untouched
  double worst_in_units = 0;  // the largest error over its fp32 bound
};

/// Runs the routine and compares with a double loop. `input_error` is the relative error that the
/// inputs may be rounded with (0: none).
Outcome outcome_of(const Problem& p, const Data& data, const Routine& routine,
                   double input_error = 0) {
  const DeviceBuffer<float> A(data.a), B(data.b);
  DeviceBuffer<float> C(data.c);
  CUBLAS_CHECK(routine(p, A.data(), B.data(), C.data()));
  const std::vector<float> got = C.to_host();
  Outcome outcome;
  outcome.within = C.guards_intact();
  for (int z = 0; z < p.batch; ++z)
    for (int64_t col = 0; col < p.n; ++col)
      for (int64_t row = 0; row < p.ldc(); ++row) {
        const int64_t at = z * p.stride_c() + col * p.ldc() + row;
        if (row >= p.m) {  // between the columns
          outcome.within &= got[at] == data.c[at];
          continue;
        }
        double sum = 0, size = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          const int64_t in_a = p.transa == CUBLAS_OP_N ? row + l * p.lda() : l + row * p.lda();
          const int64_t in_b = p.transb == CUBLAS_OP_N ? l + col * p.ldb() : col + l * p.ldb();
          const double term =
              double{data.a[z * p.stride_a() + in_a]} * data.b[z * p.stride_b() + in_b];
          sum += term;
          size += std::abs(term);
        }
        if (p.alpha == 0) sum = size = 0;  // whatever the inputs hold
        const double old = p.beta == 0 ? 0 : p.beta * double{data.c[at]};
        const double error = std::abs(got[at] - (p.alpha * sum + old));
        const double unit =
            tutorial::gamma_bound(p.k + 3) * (std::abs(p.alpha) * size + std::abs(old)) + 1e-40;
        const double rounding = (2 * input_error + input_error * input_error) * size;
        outcome.within &= error <= unit + 1.01 * rounding;
        outcome.worst_in_units = std::max(outcome.worst_in_units, error / unit);
      }
  return outcome;
}

void check(const Problem& p, const Routine& routine) {
  CAPTURE(p.transa, p.transb, p.m, p.n, p.k, p.alpha, p.beta, p.gap, p.batch, p.share_a);
  CHECK(outcome_of(p, Data(p), routine).within);
}

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasComputeType_t kComputeTypes[] = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC};

}  // namespace

TEST_CASE("cublasSgemm: operations, shapes, gaps between columns", "[cublas]") {
  const Handle handle;
  for (const auto transa : kOperations)
    for (const auto transb : kOperations)
      for (const int gap : {0, 3})
        for (const auto& [m, n, k] : {std::array{5, 7, 3}, {1, 130, 7}, {130, 1, 9}, {33, 40, 65}})
          check({transa, transb, m, n, k, 1.5f, -0.5f, gap}, sgemm(handle));
}

TEST_CASE("cublasSgemm: alpha and beta", "[cublas]") {
  const Handle handle;
  for (const float alpha : {0.0f, 1.0f, -2.5f})
    for (const float beta : {0.0f, 1.0f, 0.75f})
      for (const int k : {0, 1, 20})
        check({.m = 17, .n = 9, .k = k, .alpha = alpha, .beta = beta, .gap = 1}, sgemm(handle));
}

TEST_CASE("cublasSgemm: beta 0 does not read C, alpha 0 not A and B", "[cublas]") {
  const Handle handle;
  for (const int k : {0, 8}) {
    Problem p{.m = 8, .n = 8, .k = k};
    Data data(p);
    std::fill(data.c.begin(), data.c.end(), kNan);
    CHECK(outcome_of(p, data, sgemm(handle)).within);
    p.beta = 1;
    CHECK_FALSE(outcome_of(p, data, sgemm(handle)).within);
  }
  Problem p{.m = 8, .n = 8, .k = 8, .alpha = 0, .beta = 2};
  Data data(p);
  std::fill(data.a.begin(), data.a.end(), kNan);
  CHECK(outcome_of(p, data, sgemm(handle)).within);
  std::fill(data.c.begin(), data.c.end(), kNan);
  p.beta = 0;
  CHECK(outcome_of(p, data, sgemm(handle)).within);
}

TEST_CASE("cublas: empty problems do nothing", "[cublas]") {
  const Handle handle;
  const float one = 1, zero = 0;
  for (const auto& [m, n] : {std::array{0, 4}, {4, 0}, {0, 0}}) {
    const int ld = std::max(1, m);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 4, &one, nullptr, ld, nullptr, 4,
                      &zero, nullptr, ld) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 4, &one, nullptr, ld, 0,
                                    nullptr, 4, 0, &zero, nullptr, ld, 0,
                                    2) == CUBLAS_STATUS_SUCCESS);
  }
  CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, nullptr, 4, 16,
                                  nullptr, 4, 16, &zero, nullptr, 4, 16,
                                  0) == CUBLAS_STATUS_SUCCESS);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("cublasSgemmStridedBatched: strides, a shared A", "[cublas]") {
  const Handle handle;
  for (const auto transa : kOperations)
    for (const auto transb : kOperations)
      for (const bool share_a : {false, true})
        check({transa, transb, 12, 9, 21, 1.5f, 0.5f, 2, 5, share_a}, sgemm_batched(handle));
}

TEST_CASE("cublasGemmEx and its two batched forms with float32", "[cublas]") {
  const Handle handle;
  for (const auto compute : kComputeTypes)
    for (const auto transa : kOperations)
      for (const auto transb : kOperations) {
        check({transa, transb, 33, 18, 40, 1.5f, 0.5f, 1}, gemm_ex(handle, compute));
        check({transa, transb, 12, 9, 21, 1.5f, 0.5f, 2, 3, true},
              gemm_batched_ex(handle, compute));
        check({transa, transb, 12, 9, 21, 1.5f, 0.5f, 2, 3, true},
              gemm_pointers_ex(handle, compute));
      }
}

TEST_CASE("cublas: TF32 rounds the inputs, where it is asked for", "[cublas]") {
  const Handle handle;
  const Problem p{.m = 128, .n = 128, .k = 64};
  const Data data(p);
  const double tf32 = 0x1p-10;  // hardware may cut off where we round
  const auto error = [&](const Routine& routine) {
    const Outcome outcome = outcome_of(p, data, routine, tf32);
    CHECK(outcome.within);
    return outcome.worst_in_units;
  };
  CHECK(error(sgemm(handle)) < 1);
  CHECK(error(gemm_ex(handle, CUBLAS_COMPUTE_32F)) < 1);
  CHECK(error(gemm_ex(handle, CUBLAS_COMPUTE_32F_FAST_TF32)) > 2);
  CHECK(error(gemm_batched_ex(handle, CUBLAS_COMPUTE_32F_FAST_TF32)) > 2);
  CHECK(error(gemm_pointers_ex(handle, CUBLAS_COMPUTE_32F_FAST_TF32)) > 2);
  CHECK(error(gemm_pointers_ex(handle, CUBLAS_COMPUTE_32F_PEDANTIC)) < 1);

  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  CHECK(error(sgemm(handle)) > 2);
  CHECK(error(sgemm_batched(handle)) > 2);
  CHECK(error(gemm_ex(handle, CUBLAS_COMPUTE_32F_PEDANTIC)) < 1);

  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
  CHECK(error(sgemm(handle)) < 1);
  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  CHECK(error(sgemm_batched(handle)) < 1);
}

TEST_CASE("cublas: what the handle holds", "[cublas]") {
  const Handle handle;
  cublasMath_t math{};
  CUBLAS_CHECK(cublasGetMathMode(handle, &math));
  CHECK(math == CUBLAS_DEFAULT_MATH);
  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  CUBLAS_CHECK(cublasGetMathMode(handle, &math));
  CHECK(math == CUBLAS_TF32_TENSOR_OP_MATH);

  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_DEVICE;
  CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  CUBLAS_CHECK(cublasGetPointerMode(handle, &pointers));
  CHECK(pointers == CUBLAS_POINTER_MODE_HOST);

  int version = 0;
  CUBLAS_CHECK(cublasGetVersion(handle, &version));
  CHECK(version >= 120000);
  CUBLAS_CHECK(cublasSetWorkspace(handle, nullptr, 0));
}

TEST_CASE("cublas: work is ordered with the handle's stream", "[cublas]") {
  const Handle handle;
  cudaStream_t stream = nullptr, held = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUBLAS_CHECK(cublasSetStream(handle, stream));
  CUBLAS_CHECK(cublasGetStream(handle, &held));
  CHECK(held == stream);

  const std::vector<float> twos(64, 2.0f);
  DeviceBuffer<float> A(64), C(64);
  CUDA_CHECK(cudaMemcpyAsync(A.data(), twos.data(), 256, cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaMemsetAsync(C.data(), 0, 256, stream));
  const float one = 1;
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, A.data(), 8, A.data(),
                           8, &one, C.data(), 8));
  std::vector<float> got(64);
  CUDA_CHECK(cudaMemcpyAsync(got.data(), C.data(), 256, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CHECK(got == std::vector<float>(64, 32.0f));
  CUBLAS_CHECK(cublasSetStream(handle, nullptr));
  CUDA_CHECK(cudaStreamDestroy(stream));
}

TEST_CASE("cublas: argument errors of the products", "[cublas]") {
  const Handle handle;
  DeviceBuffer<float> memory(4096);
  struct Call {
    cublasHandle_t handle;
    cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
    int m = 4, n = 5, k = 6, lda = 4, ldb = 6, ldc = 4;
    int batch = 2;
    cudaDataType type = CUDA_R_32F;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  };
  const float one = 1, *A = memory.data(), *B = A + 1024;
  float* C = memory.data() + 2048;
  // What the four routines give when `change` made the call wrong.
  const auto statuses = [&](const std::function<void(Call&)>& change) {
    Call c{.handle = handle};
    change(c);
    return std::vector<cublasStatus_t>{
        cublasSgemm(c.handle, c.transa, c.transb, c.m, c.n, c.k, &one, A, c.lda, B, c.ldb, &one, C,
                    c.ldc),
        cublasSgemmStridedBatched(c.handle, c.transa, c.transb, c.m, c.n, c.k, &one, A, c.lda, 64,
                                  B, c.ldb, 64, &one, C, c.ldc, 64, c.batch),
        cublasGemmEx(c.handle, c.transa, c.transb, c.m, c.n, c.k, &one, A, c.type, c.lda, B,
                     CUDA_R_32F, c.ldb, &one, C, CUDA_R_32F, c.ldc, c.compute, CUBLAS_GEMM_DEFAULT),
        cublasGemmStridedBatchedEx(c.handle, c.transa, c.transb, c.m, c.n, c.k, &one, A, c.type,
                                   c.lda, 64, B, CUDA_R_32F, c.ldb, 64, &one, C, CUDA_R_32F, c.ldc,
                                   64, c.batch, c.compute, CUBLAS_GEMM_DEFAULT)};
  };
  const auto all = [](cublasStatus_t status) { return std::vector<cublasStatus_t>(4, status); };

  CHECK(statuses([](Call&) {}) == all(CUBLAS_STATUS_SUCCESS));
  CHECK(statuses([](Call& c) { c.handle = nullptr; }) == all(CUBLAS_STATUS_NOT_INITIALIZED));
  const auto invalid = all(CUBLAS_STATUS_INVALID_VALUE);
  CHECK(statuses([](Call& c) { c.m = -1; }) == invalid);
  CHECK(statuses([](Call& c) { c.n = -1; }) == invalid);
  CHECK(statuses([](Call& c) { c.k = -1; }) == invalid);
  CHECK(statuses([](Call& c) { c.lda = 3; }) == invalid);
  CHECK(statuses([](Call& c) { c.ldb = 5; }) == invalid);
  CHECK(statuses([](Call& c) { c.ldc = 3; }) == invalid);
  CHECK(statuses([](Call& c) { c.transa = CUBLAS_OP_T; }) == invalid);  // lda < k
  CHECK(statuses([](Call& c) { c.transb = CUBLAS_OP_T, c.ldb = 4; }) == invalid);
  CHECK(statuses([](Call& c) { c.m = 0, c.lda = 0; }) == invalid);
  CHECK(statuses([](Call& c) { c.k = 0, c.ldb = 0; }) == invalid);
  CHECK(statuses([](Call& c) { c.transa = static_cast<cublasOperation_t>(7); }) == invalid);
  CHECK(statuses([](Call& c) { c.transb = static_cast<cublasOperation_t>(7); }) == invalid);

  const auto negative_batch = statuses([](Call& c) { c.batch = -1; });
  CHECK(negative_batch[1] == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(negative_batch[3] != CUBLAS_STATUS_SUCCESS);  // cuBLAS 13.1 calls it a failed execution
  CHECK(statuses([](Call& c) { c.type = CUDA_R_64F; })[2] == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(statuses([](Call& c) { c.compute = CUBLAS_COMPUTE_64F; })[3] ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 5, 6, &one, A, CUDA_R_32F, 4, B,
                     CUDA_R_32F, 6, &one, C, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F,
                     static_cast<cublasGemmAlgo_t>(50)) == CUBLAS_STATUS_INVALID_VALUE);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("cublasGemmBatchedEx: argument errors, and what is empty", "[cublas]") {
  const Handle handle;
  DeviceBuffer<float> memory(64);
  const DeviceBuffer<void*> list(std::vector<void*>{memory.data(), memory.data()});
  const float one = 1;
  const auto status = [&](cublasHandle_t on, int m, int lda, int ldb, int ldc, int batch,
                          cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    return cublasGemmBatchedEx(on, CUBLAS_OP_N, CUBLAS_OP_N, m, 4, 4, &one, list.data(), CUDA_R_32F,
                               lda, list.data(), CUDA_R_32F, ldb, &one, list.data(), CUDA_R_32F,
                               ldc, batch, compute, CUBLAS_GEMM_DEFAULT);
  };
  CHECK(status(nullptr, 4, 4, 4, 4, 2) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(status(handle, -1, 4, 4, 4, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(handle, 4, 3, 4, 4, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(handle, 4, 4, 3, 4, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(handle, 4, 4, 4, 3, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(handle, 4, 4, 4, 4, -1) != CUBLAS_STATUS_SUCCESS);
  CHECK(status(handle, 4, 4, 4, 4, 2, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(handle, 0, 4, 4, 4, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(handle, 4, 4, 4, 4, 0) == CUBLAS_STATUS_SUCCESS);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("cublasSgemm: null pointers", "[cublas]") {
  const Handle handle;
  DeviceBuffer<float> memory(std::vector<float>(64, 1.0f));
  const float zero = 0, one = 1, *const M = memory.data();
  const auto status = [&](int k, const float* alpha, const float* A, const float* B,
                          const float* beta, float* C) {
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, k, alpha, A, 4, B, 4, beta, C, 4);
  };
  const auto good = CUBLAS_STATUS_SUCCESS, bad = CUBLAS_STATUS_INVALID_VALUE;
  CHECK(status(4, nullptr, M, M, &zero, memory.data() + 32) == bad);
  CHECK(status(4, &one, M, M, nullptr, memory.data() + 32) == bad);
  CHECK(status(4, &one, nullptr, M, &zero, memory.data() + 32) == bad);
  CHECK(status(4, &one, M, nullptr, &zero, memory.data() + 32) == bad);
  CHECK(status(4, &one, M, M, &zero, nullptr) == bad);
  CHECK(status(4, &one, M, M, &one, nullptr) == bad);
  // Null is allowed where nothing is read or written.
  CHECK(status(0, &one, nullptr, nullptr, &zero, memory.data() + 32) == good);
  CHECK(status(4, &zero, nullptr, nullptr, &one, memory.data() + 32) == good);
  CHECK(status(0, &one, nullptr, nullptr, &one, nullptr) == good);
  CHECK(status(0, &one, nullptr, nullptr, &zero, nullptr) == bad);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("cublas: argument errors of the handle's routines", "[cublas]") {
  const Handle handle;
  const auto none = CUBLAS_STATUS_NOT_INITIALIZED, bad = CUBLAS_STATUS_INVALID_VALUE;
  cudaStream_t stream = nullptr;
  cublasMath_t math{};
  CHECK(cublasCreate(nullptr) == bad);
  CHECK(cublasDestroy(nullptr) == none);
  CHECK(cublasGetVersion(handle, nullptr) == bad);
  CHECK(cublasSetStream(nullptr, nullptr) == none);
  CHECK(cublasGetStream(nullptr, &stream) == none);
  CHECK(cublasSetMathMode(nullptr, CUBLAS_DEFAULT_MATH) == none);
  CHECK(cublasGetMathMode(nullptr, &math) == none);
  CHECK(cublasSetMathMode(handle, static_cast<cublasMath_t>(99)) == bad);
}

TEST_CASE("cublas: statuses have names", "[cublas]") {
  CHECK(std::string(cublasGetStatusName(CUBLAS_STATUS_SUCCESS)) == "CUBLAS_STATUS_SUCCESS");
  CHECK(std::string(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE)) ==
        "CUBLAS_STATUS_INVALID_VALUE");
  CHECK(std::string(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");
  for (const auto status : {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_EXECUTION_FAILED})
    CHECK(!std::string(cublasGetStatusString(status)).empty());
}
