// A chapter's kernel list.
//
// A chapter's header names its steps once:
//
//   using Launcher = void(const float* A, const float* B, float* C, int64_t M, ...);
//   #define STEPS(STEP)                                                    (backslash)
//     STEP(coalesced, "x picks the column of C", tutorial::Tile{16, 16})   (backslash)
//     STEP(my_kernel, "what is new in it")
//   TUTORIAL_STEPS(Launcher, STEPS)
//
// which declares a function of type Launcher for each step and the list `steps` that the program,
// the tests and --list walk. A new step is a new .cu file that defines its launcher, and one line.
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
  const char* name;  // as in --kernel, and the launcher's name
  Launcher* launch;
  const char* idea;        // the one new idea, a few words
  Tile tile = {};          // how the output is divided
  const char* needs = "";  // what hardware it cannot run without: "" or, say, "sm_90a"
  unsigned features = 0;   // flags that the chapter defines, for what only some of its steps can do
};

}  // namespace tutorial

#define TUTORIAL_DECLARE_STEP(name, ...) Launcher name;
#define TUTORIAL_LIST_STEP(name, ...) {#name, &name, __VA_ARGS__},
#define TUTORIAL_STEPS(Launcher, STEPS) \
  STEPS(TUTORIAL_DECLARE_STEP)          \
  inline const std::vector<::tutorial::Step<Launcher>> steps = {STEPS(TUTORIAL_LIST_STEP)};
