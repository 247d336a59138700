#include "proto.cuh"
namespace tutorial::flash_attention::tensor_cores {
struct X_h160 { static constexpr Opt opt{.D=128,.BC=160,.WGS=2,.STAGES=2}; };
void h160(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) { launch<X_h160>(s, q, k, v, out, lse); }
}
