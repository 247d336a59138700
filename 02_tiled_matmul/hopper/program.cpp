// The program's part hopper: part tensor_cores' problem, with these steps.
#include "common/program/chapter.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {

void body(Chapter& chapter) {
  tensor_cores::run_steps(chapter, steps, symbols_of);
}

}  // namespace tutorial::tiled_matmul::hopper
