// refused: thrust.cu:2: Thrust is not on the CPU backend: docs/try.md lists what is$
#include <thrust/device_vector.h>
int main() {
  thrust::device_vector<int> values(3);
}
