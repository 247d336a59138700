#pragma once

__host__ __device__ inline int last(int count) {
  return count - 1;
}
