#include "proto.cuh"
namespace tutorial::flash_attention::tensor_cores {
struct X_d64_2x192_nopp { static constexpr Opt opt{.D=64,.BC=192,.WGS=2,.STAGES=2,.PP=false}; };
void d64_2x192_nopp(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) { launch<X_d64_2x192_nopp>(s, q, k, v, out, lse); }
}
