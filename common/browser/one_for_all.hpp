// Included before all else of a side module: a page's program is several modules, and has one of
// these for all of them.
#pragma once

namespace tutorial {

struct GridLimit;
extern inline __attribute__((visibility("default")))
GridLimit grid_limit;  // common/kernel/grid.hpp

}  // namespace tutorial
