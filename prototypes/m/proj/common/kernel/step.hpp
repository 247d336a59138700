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
//        .idea = "the block shares a tile of A and one of B",
//        .tile = {.rows = 16, .cols = 16}},
//       …
//
// A new step is a new .cu file that defines its launcher, and an entry here.
#pragma once

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
};

template <class Launcher>
struct Step {
  const char* name = "";  // as in --kernel, and the launcher's name
  Launcher* launch = nullptr;
  const char* idea = "";   // the one new idea, a few words
  Tile tile = {};          // how the output is divided
  const char* needs = "";  // what hardware it cannot run without: "" or, say, "sm_90a"
  unsigned features = 0;   // flags that the chapter defines, for what only some of its steps can do
};

}  // namespace tutorial
