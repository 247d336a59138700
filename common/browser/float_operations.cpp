// Floating-point instructions of a basic block: what a program reads off its own code, a page's
// kernel modules bring as a table (docs/site/browser/compile/sites.js).
#include "common/simulator/count/float_operations.hpp"

#include <map>

namespace simulator {
namespace {

/// A row of the table. Its number is the module's; zeros end it.
struct ArithmeticRow {
  int32_t place;
  FloatOperations operations;
};

std::map<uint32_t, FloatOperations>& by_place() {
  static auto& all = *new std::map<uint32_t, FloatOperations>;
  return all;
}

}  // namespace

FloatOperations float_operations(uint32_t place) {
  const auto found = by_place().find(place);
  return found == by_place().end() ? FloatOperations{} : found->second;
}

}  // namespace simulator

/// `first`: the number of the module's first place.
extern "C" __attribute__((export_name("simulator_add_arithmetic"))) void simulator_add_arithmetic(
    const simulator::ArithmeticRow* row, int first) {
  for (; row->place != 0; ++row)
    simulator::by_place()[static_cast<uint32_t>(first + row->place)] = row->operations;
}
