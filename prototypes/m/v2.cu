#include "kernel.cuh"
#define X(...) {#__VA_ARGS__, launch<Cfg<__VA_ARGS__>>}
V list2[] = {
  X(128, 256, 64, 64, 64, 4, 1, true, 8, false, 256),
  X(128, 256, 64, 64, 64, 4, 1, true, 8, false, 1024),
  X(128, 256, 64, 64, 64, 4, 1, true, 8, false, 2048),
  X(64, 128, 64, 64, 32, 4, 2, true, 8, false, 1024),
};
int n2 = sizeof list2 / sizeof *list2;
