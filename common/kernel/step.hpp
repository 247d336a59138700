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
};

/// What a launch of a step makes one of its kernels ask global memory for: bytes, of all threads
/// and over all launches of the kernel.
struct Asked {
  const char* kernel = "";  // its name, without template arguments; "": the one with no other entry
  int64_t loads = 0, stores = 0;
};

/// The entry of this kernel; template arguments do not count. nullptr: there is none.
inline const Asked* find_asked(const std::vector<Asked>& asked, const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  const Asked* of_others = nullptr;
  for (const Asked& by : asked) {
    if (by.kernel == name) return &by;
    if (*by.kernel == '\0') of_others = &by;
  }
  return of_others;
}

/// What says this of a launch, before it: a function with the launcher's own parameters, since all
/// that decides what is asked for is among them. The simulator's counts are held against it: by the
/// tests, by --profile, and to end a kernel that makes ten times as many accesses.
template <class Launcher>
struct AskedBefore;
template <class... Parameters>
struct AskedBefore<void(Parameters...)> {
  using Function = std::vector<Asked>(Parameters...);
};
template <class Launcher>
using Asks = typename AskedBefore<Launcher>::Function;

template <class Launcher>
struct Step {
  const char* name = "";  // as in --kernel, and the launcher's name
  Launcher* launch = nullptr;
  Asks<Launcher>* asked = nullptr;
  const char* idea = "";   // the one new idea, a few words
  Tile tile = {};          // how the output is divided
  const char* needs = "";  // what hardware it cannot run without: "" or, say, "sm_90a"
  unsigned features = 0;   // flags that the chapter defines, for what only some of its steps can do
};

}  // namespace tutorial
