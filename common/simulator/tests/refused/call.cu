// refused: call.cu:7:4: .*a __global__ function call must be configured
__global__ void k(int* p) {
  *p = 1;
}

int main() {
  k(nullptr);
}
