// refused: call_in_template.cu:10:7: .*a __global__ function call must be configured
namespace a {
template <class T>
__global__ void k(T* p, int n) {
  p[threadIdx.x] = T(n);
}
}  // namespace a
template <class T>
void run(T* p) {
  a::k(p, 3);
}
void all() {
  run<float>(nullptr);
}
