// On a GPU the driver's functions need its library, which a machine that only builds does not have.
#include <cuda.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>

TEST_CASE("cuda.h: the driver's own names", "[runtime]") {
  STATIC_CHECK(CUDA_VERSION >= 12000);
  CHECK(cuInit(0) == CUDA_SUCCESS);
  int count = 0, version = 0;
  CUdevice device = -1;
  char name[100] = {};
  CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CHECK(count >= 1);
  CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS);
  CHECK(std::strlen(name) > 0);
  CHECK(cuDriverGetVersion(&version) == CUDA_SUCCESS);
  CHECK(version >= 12000);
}
