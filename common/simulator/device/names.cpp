#include "common/simulator/device/names.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "common/simulator/device/device.hpp"

namespace simulator {

std::string element_name(const std::string& array, const SharedShape& shape, size_t byte) {
  size_t element = byte / shape.element;
  std::string indices;
  for (int d = shape.rank - 1; d >= 0; --d) {
    const size_t extent = d > 0 ? shape.extents[d] : element + 1;  // the first index has no bound
    indices = "[" + std::to_string(element % extent) + "]" + indices;
    element /= extent;
  }
  const size_t rest = byte % shape.element;
  return array + indices + (rest == 0 ? "" : ", byte " + std::to_string(rest) + " of it");
}

std::string device_name(uintptr_t address) {
  const Allocation found = find_allocation(reinterpret_cast<const void*>(address));
  if (found.bytes == 0) return "global memory";
  const size_t byte = address - found.begin;
  if (found.element == 0)
    return "global memory, byte " + std::to_string(byte) + " of an allocation of " +
           std::to_string(found.bytes);
  const size_t rest = byte % found.element;
  return "global memory, element " + std::to_string(byte / found.element) + " of " +
         std::to_string(found.bytes / found.element) +
         (rest == 0 ? "" : ", byte " + std::to_string(rest) + " of it");
}

std::string short_name(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name.substr(name.rfind(':') + 1);
}

}  // namespace simulator
