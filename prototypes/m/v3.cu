#include "kernel.cuh"
#define X(...) {#__VA_ARGS__, launch<Cfg<__VA_ARGS__>>}
V list3[] = {
  X(64, 128, 64, 64, 32, 4, 2, true, 8, false, 256),
  X(128, 128, 64, 64, 64, 3, 2, true, 8, false, 1024),
  X(128, 128, 64, 64, 64, 3, 2, true, 8, false, 256),
  X(256, 128, 64, 64, 64, 3, 1, true, 8, false, 1024),
};
int n3 = sizeof list3 / sizeof *list3;
