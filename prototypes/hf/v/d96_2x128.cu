#include "proto.cuh"
namespace tutorial::flash_attention::tensor_cores {
struct X_d96_2x128 { static constexpr Opt opt{.D=96,.BC=128,.WGS=2,.STAGES=2}; };
void d96_2x128(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) { launch<X_d96_2x128>(s, q, k, v, out, lse); }
}
