#include "kernel.cuh"
namespace {
using T3 = Tile<128, 64, 32, 64>;   // 4 warps
struct C : T3 { static constexpr Split SPLIT = INT1; static constexpr int MINB = 2, FULL = 4, BK = 32; };
struct C1 : C { static constexpr bool ROWS = true; };
using T9 = Tile<64, 64, 32, 64>;
struct F2 : T9 { static constexpr Split SPLIT = INT1; static constexpr int FULL = 4, BK = 32, MINB = 4; };
struct F3 : F2 { static constexpr bool ROWS = true; };
using T2 = Tile<128, 128, 64, 64>;   // 4 warps, 2 blocks
struct R : T2 { static constexpr int MINB = 2, PROMOTE = 4, GN = 2; static constexpr Split SPLIT = INT1; };
struct R1 : R { static constexpr int BK = 32; };
struct R2 : R { static constexpr int STAGES = 2; };
using T5 = Tile<64, 64, 32, 32>;
struct G : T5 { static constexpr Split SPLIT = INT1; static constexpr int FULL = 4, BK = 32, MINB = 4; };
using T6 = Tile<64, 128, 64, 32>;
struct H : T6 { static constexpr Split SPLIT = INT1; static constexpr int FULL = 4, BK = 32, MINB = 2; };
struct H1 : H { static constexpr bool ROWS = true; };
}
std::initializer_list<Entry> v3() { static std::initializer_list<Entry> e = {entry<C>("128x64 32x64"), entry<C1>("128x64 32x64 rows"), entry<F2>("64x64 32x64 2w x4"), entry<F3>("64x64 32x64 2w x4 rows"), entry<R>("64x64 ring g2 x2"), entry<R1>("64x64 ring g2 BK32"), entry<R2>("64x64 ring g2 2st"), entry<G>("64x64 32x32 4w x4"), entry<H>("64x128 64x32"), entry<H1>("64x128 64x32 rows")}; return e; }
