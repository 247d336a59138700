#include "kernel.cuh"
#include "tf32/tf32.hpp"
namespace s = tutorial::tiled_matmul::tf32;
template <s::Launcher* F> void call(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K, bool) { F(A, B, C, M, N, K); }
template <s::Launcher* F> Entry step(const char* n) { return {n, call<F>, nullptr, 0, 0}; }
std::initializer_list<Entry> v4() { static std::initializer_list<Entry> e = {step<s::one_product>("step 1"), step<s::three_products>("step 2"), step<s::partial_sums>("step 3"), step<s::deep_tiles>("step 4"), step<s::integer_rounding>("step 5"), step<s::two_blocks>("step 6"), step<s::fragments_ahead>("step 7")}; return e; }
