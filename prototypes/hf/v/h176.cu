#include "proto.cuh"
namespace tutorial::flash_attention::tensor_cores {
struct X_h176 { static constexpr Opt opt{.D=128,.BC=176,.WGS=2,.STAGES=2}; };
void h176(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) { launch<X_h176>(s, q, k, v, out, lse); }
}
