#include "kernel.cuh"
#define X(...) {#__VA_ARGS__, launch<Cfg<__VA_ARGS__>>}
V list1[] = {
  X(128, 256, 64, 64, 64, 3, 1, true, 8, false, 0),
  X(128, 256, 64, 64, 64, 3, 1, true, 8, false, 256),
  X(128, 256, 64, 64, 64, 3, 1, true, 8, false, 1024),
  X(128, 256, 64, 64, 64, 3, 1, true, 8, false, 2048),
};
int n1 = sizeof list1 / sizeof *list1;
