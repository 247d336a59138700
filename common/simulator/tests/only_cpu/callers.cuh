// What the kernels of callers_test.cu call: functions that the compiler must leave calls.
#pragma once

// (nvcc's __noinline__ is nothing to the simulator.)
#define KEPT_A_CALL __attribute__((noinline))

/// Beyond the end of `out`, if `at` is.
__device__ KEPT_A_CALL inline void store_in_header(int* out, int at) {
  out[at] = 1;
}
__device__ KEPT_A_CALL inline void meet_in_header() {
  __syncthreads();
}
