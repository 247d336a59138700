// refused: driver.cpp:4: Memory of the driver API .*: not on the CPU backend; use cudaMalloc
#include <cuda.h>
int main() {
  CUmemGenericAllocationHandle handle;
  return cuMemCreate(&handle, 1 << 20, nullptr, 0);
}
