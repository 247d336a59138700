// refused: thrust.cu:2: Thrust: not on the CPU backend; copy with cudaMemcpy
#include <thrust/device_vector.h>
int main() {
  thrust::device_vector<int> values(3);
}
