// A chapter's list of steps.
//
// A chapter's header declares its launchers and names them in a list, which the program, the tests
// and --list walk:
//
//   Launcher shared_tile, register_tile;
//
//   inline const std::vector<Step<Launcher>> steps = {
//       {.name = "shared_tile",
//        .launch = shared_tile,
//        .asked = by_tiles<16, 16>,
//        .idea = "the block shares a tile of A and one of B",
//        .tile = {.rows = 16, .cols = 16}},
//       …
//
// A new step is a new .cu file that defines its launcher, and an entry here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutorial {

/// How a kernel divides its output, so that a failure report can name the block and thread that own
/// an element. The output is seen as a matrix (batch goes to blockIdx.z). Zero rows: not known.
struct Tile {
  int rows = 0, cols = 0;                // of the output, per block
  int thread_rows = 1, thread_cols = 1;  // of the output, per thread: a contiguous patch
  bool x_down = false;                   // blockIdx.x and threadIdx.x count rows, not columns
  int thread_col_parts = 1;  // the patch is cut into so many groups of columns, which lie
                             // cols / thread_col_parts apart
  bool names_block = true;   // tile (x, y) is block (x, y)'s; else blocks take tiles in an order of
                             // their own, or another kernel writes a part of them
};

/// A tile whose elements a block's threads share in another way: no thread can be named.
constexpr Tile tile_of_a_block(int rows, int cols) {
  return {.rows = rows, .cols = cols, .thread_rows = 0};
}
/// … and no block.
constexpr Tile tile_in_any_order(int rows, int cols) {
  return {.rows = rows, .cols = cols, .thread_rows = 0, .names_block = false};
}

/// What a kernel asks global memory for where a launch of a step launches it: bytes, of all
/// threads, and of all launches where it is launched several times.
struct Asked {
  const char* kernel = "";  // its name, without template arguments; "": any that has no other entry
  int64_t loads = 0, stores = 0;
};

/// The entry of this kernel, or nullptr; template arguments do not count.
inline const Asked* find_asked(const std::vector<Asked>& asked, const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  const Asked* of_others = nullptr;
  for (const Asked& by : asked) {
    if (by.kernel == name) return &by;
    if (*by.kernel == '\0') of_others = &by;
  }
  return of_others;
}

/// A function that says this of a step's kernels. It has the launcher's own parameters, since all
/// that decides what they ask for is among them; and it launches nothing. The tests compare with it
/// what the simulator counts, and so does --profile; and a kernel that makes ten times as many
/// accesses is ended.
template <class Launcher>
struct AsksOf;
template <class... Parameters>
struct AsksOf<void(Parameters...)> {
  using Function = std::vector<Asked>(Parameters...);
};
template <class Launcher>
using Asks = typename AsksOf<Launcher>::Function;

template <class Launcher>
struct Step {
  const char* name = "";  // as in --kernel, and the launcher's name
  Launcher* launch = nullptr;
  Asks<Launcher>* asked = nullptr;  // of global memory
  const char* idea = "";            // the one new idea, a few words
  Tile tile = {};                   // how the output is divided
  const char* needs = "";           // what hardware it cannot run without: "" or, say, "sm_90a"
  unsigned features = 0;  // flags that the chapter defines, for what only some of its steps can do
};

}  // namespace tutorial
