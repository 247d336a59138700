// The program's part hopper: part tensor_cores' problem, with these steps.
#include "common/program/chapter.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::flash_attention::hopper {

void body(Chapter& chapter) {
  tensor_cores::run_steps(chapter, steps, 300);  // three tiles of queries
}

}  // namespace tutorial::flash_attention::hopper
