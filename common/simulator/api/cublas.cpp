// cuBLAS over a CPU's BLAS: the argument checks are cuBLAS's, the products are the host's.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/device/stream_order.hpp"
#include "common/simulator/world/blas.hpp"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace {

size_t bytes_of(cudaDataType type) {
  return type == CUDA_R_32F ? sizeof(float) : sizeof(__nv_bfloat16);
}

/// A batch of column-major matrices: of one operand, or of the result. They lie `stride` elements
/// apart, or where the array `each`, in global memory, says.
struct Matrices {
  const void* data;
  cudaDataType type;
  int ld;
  long long stride;
  const char* name;
  const void* const* each = nullptr;

  const void* of(int product, int64_t element = 0) const {
    const void* begin = each != nullptr ? each[product] : data;
    if (each == nullptr) element += product * stride;
    return static_cast<const char*>(begin) + element * static_cast<int64_t>(bytes_of(type));
  }
  bool is_null() const { return each == nullptr && data == nullptr; }
};

struct Gemm {
  const char* routine;
  cublasOperation_t transa, transb;
  int m, n, k;
  const void* alpha;
  Matrices A, B;
  const void* beta;
  Matrices C;
  int batch;
};

bool is_operation(cublasOperation_t op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/// Without a product, C = beta · C is all there is to do, and A and B are not read.
bool multiplies(const Gemm& g) {
  return g.k > 0 && *static_cast<const float*>(g.alpha) != 0;
}

/// The errors of the cuBLAS manual, cublas<t>gemm() and cublas<t>gemmStridedBatched().
cublasStatus_t check_arguments(const Gemm& g) {
  const int rows_of_a = g.transa == CUBLAS_OP_N ? g.m : g.k;
  const int rows_of_b = g.transb == CUBLAS_OP_N ? g.k : g.n;
  if (!is_operation(g.transa) || !is_operation(g.transb)) return CUBLAS_STATUS_INVALID_VALUE;
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (g.A.ld < std::max(1, rows_of_a) || g.B.ld < std::max(1, rows_of_b) ||
      g.C.ld < std::max(1, g.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (g.alpha == nullptr || g.beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_scaled = *static_cast<const float*>(g.beta) != 1;
  if (g.C.is_null() && (multiplies(g) || is_scaled)) return CUBLAS_STATUS_INVALID_VALUE;
  if (multiplies(g) && (g.A.is_null() || g.B.is_null())) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

/// True when the array that says where the matrices lie is itself in global memory.
bool pointers_in_device_memory(const Gemm& g, const Matrices& matrices) {
  const auto begin = reinterpret_cast<uintptr_t>(matrices.each);
  const uintptr_t end = begin + static_cast<size_t>(g.batch) * sizeof(void*);
  const simulator::Allocation found = simulator::find_allocation(matrices.each);
  if (found.bytes > 0 && end <= found.begin + found.bytes) return true;
  std::ostringstream text;
  text << "bounds in " << g.routine << ": the " << g.batch << " pointers to the matrices "
       << matrices.name << " are not in global memory\n"
       << simulator::describe_address(
              reinterpret_cast<const void*>(found.bytes == 0 ? begin : end - sizeof(void*)));
  simulator::publish(text.str(), cudaErrorIllegalAddress);
  return false;
}

/// True when each rows × cols matrix lies in global memory. Otherwise reports it: a GPU would meet
/// an illegal address.
bool in_device_memory(const Gemm& g, const Matrices& matrices, int rows, int cols) {
  const int64_t elements = int64_t{cols - 1} * matrices.ld + rows;
  if (matrices.each != nullptr && !pointers_in_device_memory(g, matrices)) return false;
  for (int i = 0; i < g.batch; ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(matrices.of(i));
    const uintptr_t end = begin + static_cast<size_t>(elements) * bytes_of(matrices.type);
    const simulator::Allocation found =
        simulator::find_allocation(reinterpret_cast<const void*>(begin));
    if (found.bytes > 0 && end <= found.begin + found.bytes) continue;
    const bool begins_outside = found.bytes == 0;
    std::ostringstream text;
    text << "bounds in " << g.routine << ", matrix " << matrices.name;
    if (g.batch > 1) text << " of product " << i;
    text << ": " << rows << "x" << cols << " with a leading dimension of " << matrices.ld << " "
         << (begins_outside ? "does not begin" : "does not end") << " in global memory\n"
         << simulator::describe_address(reinterpret_cast<const void*>(
                begins_outside ? begin : end - bytes_of(matrices.type)));
    simulator::publish(text.str(), cudaErrorIllegalAddress);
    return false;
  }
  return true;
}

/// What a product reads or writes, column by column.
void accesses(const simulator::Operation& now, const Matrices& matrices, int product, int batch,
              int rows, int cols,
              void (*access)(const simulator::Operation&, const void*, size_t)) {
  if (product == 0 && matrices.each != nullptr)
    simulator::host_operation_reads(now, matrices.each, static_cast<size_t>(batch) * sizeof(void*));
  for (int64_t col = 0; simulator::has_streams() && col < cols; ++col)
    access(now, matrices.of(product, col * matrices.ld),
           static_cast<size_t>(rows) * bytes_of(matrices.type));
}

/// To 10 bits of fraction, a tie away from zero: what PTX's cvt.rna.tf32.f32 does.
float round_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

/// Element i of a matrix of bf16 or fp16, both ways.
float read_narrow(const void* matrix, cudaDataType type, int64_t i) {
  if (type == CUDA_R_16BF) return static_cast<const __nv_bfloat16*>(matrix)[i];
  return static_cast<const __half*>(matrix)[i];
}
void write_narrow(void* matrix, cudaDataType type, int64_t i, float value) {
  if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(matrix)[i] = value;
  else
    static_cast<__half*>(matrix)[i] = value;
}

/// A product's operand as float32: the matrix itself, or, rounded or of another type, a copy with
/// the same leading dimension in `copy`.
const float* as_float(const Matrices& matrices, int product, int rows, int cols, bool tf32,
                      std::vector<float>& copy) {
  const void* from = matrices.of(product);
  const bool is_narrow = matrices.type != CUDA_R_32F;
  if (!tf32 && !is_narrow) return static_cast<const float*>(from);
  copy.resize(static_cast<size_t>(matrices.ld) * static_cast<size_t>(cols));
  for (int64_t col = 0; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t i = col * matrices.ld + row;
      copy[static_cast<size_t>(i)] = is_narrow ? read_narrow(from, matrices.type, i)
                                               : round_to_tf32(static_cast<const float*>(from)[i]);
    }
  return copy.data();
}

/// C = beta · C without reading a C that beta = 0 makes irrelevant: it may hold NaN.
void scale(float* C, int rows, int cols, int ld, float beta) {
  for (int64_t col = 0; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row)
      C[col * ld + row] = beta == 0 ? 0.0f : beta * C[col * ld + row];
}

cublasStatus_t gemm(cublasHandle_t handle, const Gemm& g, bool tf32) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = check_arguments(g);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (simulator::is_planning()) return CUBLAS_STATUS_SUCCESS;
  if (simulator::take_kernel_fault() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;

  const float alpha = *static_cast<const float*>(g.alpha);
  const float beta = *static_cast<const float*>(g.beta);
  if (!multiplies(g) && beta == 1) return CUBLAS_STATUS_SUCCESS;
  const int a_rows = g.transa == CUBLAS_OP_N ? g.m : g.k, a_cols = g.m + g.k - a_rows;
  const int b_rows = g.transb == CUBLAS_OP_N ? g.k : g.n, b_cols = g.k + g.n - b_rows;
  if (!in_device_memory(g, g.C, g.m, g.n) ||
      (multiplies(g) &&
       (!in_device_memory(g, g.A, a_rows, a_cols) || !in_device_memory(g, g.B, b_rows, b_cols)))) {
    simulator::set_kernel_fault(cudaErrorIllegalAddress);
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }

  const simulator::Operation now = simulator::begin_operation(g.routine, handle->stream);
  for (int i = 0; i < g.batch; ++i) {
    if (multiplies(g)) {
      accesses(now, g.A, i, g.batch, a_rows, a_cols, simulator::host_operation_reads);
      accesses(now, g.B, i, g.batch, b_rows, b_cols, simulator::host_operation_reads);
    }
    accesses(now, g.C, i, g.batch, g.m, g.n, simulator::host_operation_writes);
  }

  std::vector<float> a_copy, b_copy, c_copy;
  for (int i = 0; i < g.batch; ++i) {
    // Of a C of another type the sums are made in a copy, and rounded once.
    const bool is_narrow = g.C.type != CUDA_R_32F;
    void* const result = const_cast<void*>(g.C.of(i));
    float* C = static_cast<float*>(result);
    if (is_narrow) C = const_cast<float*>(as_float(g.C, i, g.m, g.n, false, c_copy));
    if (beta != 1) scale(C, g.m, g.n, g.C.ld, beta);
    for (int column = 0; column < g.n; ++column)  // a library's writes are not instrumented
      simulator::mark_written(g.C.of(i, int64_t{column} * g.C.ld),
                              static_cast<size_t>(g.m) * bytes_of(g.C.type));
    if (multiplies(g)) {
      const float* A = as_float(g.A, i, a_rows, a_cols, tf32, a_copy);
      const float* B = as_float(g.B, i, b_rows, b_cols, tf32, b_copy);
      simulator::add_host_product(g.m, g.n, g.k, alpha, {A, g.A.ld, g.transa != CUBLAS_OP_N},
                                  {B, g.B.ld, g.transb != CUBLAS_OP_N}, C, g.C.ld);
    }
    for (int64_t column = 0; is_narrow && column < g.n; ++column)
      for (int64_t row = 0; row < g.m; ++row)
        write_narrow(result, g.C.type, column * g.C.ld + row, C[column * g.C.ld + row]);
  }
  return CUBLAS_STATUS_SUCCESS;
}

int math_of(cublasHandle_t handle) {
  return handle == nullptr ? 0 : handle->math & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
}

/// The routines without a compute type take it from the handle's math mode.
cublasStatus_t sgemm(cublasHandle_t handle, const Gemm& g) {
  const int math = math_of(handle);
  return gemm(handle, g, math == CUBLAS_TF32_TENSOR_OP_MATH || math == CUBLAS_TENSOR_OP_MATH);
}

cublasStatus_t gemm_ex(cublasHandle_t handle, const Gemm& g, cublasComputeType_t compute,
                       int algorithm) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  // A and B of one type; C of the same, or float32 (the manual's table for CUBLAS_COMPUTE_32F).
  const bool is_narrow = g.A.type == CUDA_R_16BF || g.A.type == CUDA_R_16F;
  if (g.A.type != g.B.type || (g.A.type != CUDA_R_32F && !is_narrow) ||
      (g.C.type != CUDA_R_32F && g.C.type != g.A.type) ||
      (is_narrow && compute == CUBLAS_COMPUTE_32F_FAST_TF32))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC &&
      compute != CUBLAS_COMPUTE_32F_FAST_TF32)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  // The manual's values are -1 … 23 and 99 … 115. They choose how, not what, is computed.
  if (algorithm < -1 || algorithm > 115 || (algorithm > 23 && algorithm < 99))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool mode_is_tf32 = math_of(handle) == CUBLAS_TF32_TENSOR_OP_MATH;
  return gemm(handle, g,
              !is_narrow && (compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                             (compute == CUBLAS_COMPUTE_32F && mode_is_tf32)));
}

}  // namespace

// ---- The handle

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version) {
  static_cast<void>(handle);  // any will do, as in cuBLAS
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (stream == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int base = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if (base < CUBLAS_DEFAULT_MATH || base > CUBLAS_TF32_TENSOR_OP_MATH)
    return CUBLAS_STATUS_INVALID_VALUE;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (mode == CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_SUCCESS;
  return mode == CUBLAS_POINTER_MODE_DEVICE ? CUBLAS_STATUS_NOT_SUPPORTED
                                            : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (mode == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *mode = CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

// ---- Statuses

namespace {

struct StatusText {
  cublasStatus_t status;
  const char *name, *text;
};
constexpr StatusText kStatuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "no error"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the handle was not made by cublasCreate"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "too little memory"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an argument has a value that it must not have"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device is too old"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "global memory was not reached"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the work could not be done on the device"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an error inside cuBLAS"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "this combination of arguments is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "no license was found"},
};

const StatusText& find_status(cublasStatus_t status) {
  for (const StatusText& entry : kStatuses)
    if (entry.status == status) return entry;
  static constexpr StatusText kUnknown{CUBLAS_STATUS_INTERNAL_ERROR, "unrecognized status",
                                       "not a status of cuBLAS"};
  return kUnknown;
}

}  // namespace

const char* cublasGetStatusName(cublasStatus_t status) {
  return find_status(status).name;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return find_status(status).text;
}

// ---- The products

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const float* alpha,
                           const float* A, int lda, const float* B, int ldb, const float* beta,
                           float* C, int ldc) {
  const Matrices a{A, CUDA_R_32F, lda, 0, "A"}, b{B, CUDA_R_32F, ldb, 0, "B"},
      c{C, CUDA_R_32F, ldc, 0, "C"};
  return sgemm(handle, {"cublasSgemm", transa, transb, m, n, k, alpha, a, b, beta, c, 1});
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float* alpha, const float* A, int lda,
                                         long long int strideA, const float* B, int ldb,
                                         long long int strideB, const float* beta, float* C,
                                         int ldc, long long int strideC, int batchCount) {
  const Matrices a{A, CUDA_R_32F, lda, strideA, "A"}, b{B, CUDA_R_32F, ldb, strideB, "B"},
      c{C, CUDA_R_32F, ldc, strideC, "C"};
  return sgemm(handle, {"cublasSgemmStridedBatched", transa, transb, m, n, k, alpha, a, b, beta, c,
                        batchCount});
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B,
                            cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo) {
  const Matrices a{A, Atype, lda, 0, "A"}, b{B, Btype, ldb, 0, "B"}, c{C, Ctype, ldc, 0, "C"};
  return gemm_ex(handle, {"cublasGemmEx", transa, transb, m, n, k, alpha, a, b, beta, c, 1},
                 computeType, algo);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype,
                                          int lda, long long int strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long int strideB,
                                          const void* beta, void* C, cudaDataType Ctype, int ldc,
                                          long long int strideC, int batchCount,
                                          cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  const Matrices a{A, Atype, lda, strideA, "A"}, b{B, Btype, ldb, strideB, "B"},
      c{C, Ctype, ldc, strideC, "C"};
  return gemm_ex(
      handle,
      {"cublasGemmStridedBatchedEx", transa, transb, m, n, k, alpha, a, b, beta, c, batchCount},
      computeType, algo);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const Aarray[], cudaDataType Atype, int lda,
                                   const void* const Barray[], cudaDataType Btype, int ldb,
                                   const void* beta, void* const Carray[], cudaDataType Ctype,
                                   int ldc, int batchCount, cublasComputeType_t computeType,
                                   cublasGemmAlgo_t algo) {
  const Matrices a{nullptr, Atype, lda, 0, "A", Aarray}, b{nullptr, Btype, ldb, 0, "B", Barray},
      c{nullptr, Ctype, ldc, 0, "C", Carray};
  return gemm_ex(handle,
                 {"cublasGemmBatchedEx", transa, transb, m, n, k, alpha, a, b, beta, c, batchCount},
                 computeType, algo);
}
