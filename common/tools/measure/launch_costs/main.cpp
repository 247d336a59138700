// launch_costs: microseconds of the host's clock for launches of parts hopper, with their maps made
// anew each time and made once (docs/notes/02_hopper.md). Prints lines for variants.csv.
#include <cstdio>
#include <exception>

#include "launch_costs.hpp"

int main() {
  try {
    tutorial::product_costs();
    tutorial::attention_costs();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
