#include "kernel.cuh"
namespace {
using T4 = Tile<64, 128, 32, 64>;   // 4 warps
struct D : T4 { static constexpr Split SPLIT = INT1; static constexpr int MINB = 2, FULL = 4, BK = 32; };
struct D0 : D { static constexpr bool LDM = false, DEAL = false; };
struct D1 : D { static constexpr bool DEAL = false; };
struct D2 : D { static constexpr bool AHEAD = false; static constexpr int STAGES = 2; };
struct D3 : D { static constexpr bool AHEAD = false, LDM = false, DEAL = false; static constexpr int STAGES = 2; };
struct D4 : D { static constexpr int FULL = 0; };
struct D5 : D { static constexpr bool ROWS = true; };
struct D6 : D { static constexpr bool LATEADD = true; };
struct D7 : D { static constexpr bool PLAINORDER = true; };
struct D8 : D { static constexpr bool ROWS = true; static constexpr int STAGES = 2; };
struct D9 : D { static constexpr int STAGES = 2; static constexpr bool ZEROC = true; };
}
std::initializer_list<Entry> v2() { static std::initializer_list<Entry> e = {entry<D>("D 64x128 32x64 full32"), entry<D0>("D plain loads"), entry<D1>("D not dealt"), entry<D2>("D not ahead 2st"), entry<D3>("D not ahead plain 2st"), entry<D4>("D without sums"), entry<D5>("D rows"), entry<D6>("D late add"), entry<D7>("D plain order"), entry<D8>("D rows 2st"), entry<D9>("D zero 2st")}; return e; }
