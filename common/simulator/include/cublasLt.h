// cuBLASLt, so far that a program which includes it, or has a handle and descriptions of matrices,
// compiles and runs. A product is refused where it is asked for: cuBLAS's own are there.
// (docs.nvidia.com/cuda/cublas, "Using the cuBLASLt API"; values of enumerators are NVIDIA's.)
#pragma once

#include "cublas_v2.h"
#include "simulator/refused_call.h"

typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_TRANSC = 5,
  CUBLASLT_MATMUL_DESC_FILL_MODE = 6,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
} cublasLtMatmulPreferenceAttributes_t;
typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
  CUBLASLT_EPILOGUE_GELU_AUX = 160,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
  CUBLASLT_EPILOGUE_DGELU = 192,
  CUBLASLT_EPILOGUE_DGELU_BGRAD = 208,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
} cublasLtEpilogue_t;

// A handle, a description: nothing is in them. Not null, as programs look at that.
#define SIMULATOR_LT_OBJECT(create, destroy, type, ...)                  \
  inline cublasStatus_t create(type* object __VA_ARGS__) {               \
    if (object == nullptr) return CUBLAS_STATUS_INVALID_VALUE;           \
    static char nothing;                                                 \
    *object = reinterpret_cast<type>(&nothing);                          \
    return CUBLAS_STATUS_SUCCESS;                                        \
  }                                                                      \
  inline cublasStatus_t destroy(type object) {                           \
    return object ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE; \
  }
#define SIMULATOR_COMMA ,
SIMULATOR_LT_OBJECT(cublasLtCreate, cublasLtDestroy, cublasLtHandle_t)
SIMULATOR_LT_OBJECT(cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t,
                    SIMULATOR_COMMA cublasComputeType_t SIMULATOR_COMMA cudaDataType)
SIMULATOR_LT_OBJECT(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t,
                    SIMULATOR_COMMA cudaDataType SIMULATOR_COMMA uint64_t SIMULATOR_COMMA uint64_t
                        SIMULATOR_COMMA int64_t)
SIMULATOR_LT_OBJECT(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy,
                    cublasLtMatmulPreference_t)
#undef SIMULATOR_COMMA
#undef SIMULATOR_LT_OBJECT

inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t,
                                                     cublasLtMatmulDescAttributes_t, const void*,
                                                     size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayoutAttribute_t, const void*,
                                                       size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t,
                                                           const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

/// What both of these end with.
inline cublasStatus_t simulator_no_lt(const char* function, const std::source_location& where) {
  simulator::refuse_call(function, "cublasGemmEx() and cublasSgemm() of cublas_v2.h are", where);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t*, int* found,
    const std::source_location& where = std::source_location::current()) {
  if (found != nullptr) *found = 0;
  return simulator_no_lt("cublasLtMatmulAlgoGetHeuristic()", where);
}
inline cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
    const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*,
    cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t,
    const std::source_location& where = std::source_location::current()) {
  return simulator_no_lt("cublasLtMatmul()", where);
}
