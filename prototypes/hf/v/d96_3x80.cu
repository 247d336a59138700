#include "proto.cuh"
namespace tutorial::flash_attention::tensor_cores {
struct X_d96_3x80 { static constexpr Opt opt{.D=96,.BC=80,.WGS=3,.STAGES=2}; };
void d96_3x80(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) { launch<X_d96_3x80>(s, q, k, v, out, lse); }
}
