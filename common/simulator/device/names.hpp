// The names of places in memory, for reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "simulator/shared_shape.h"

namespace simulator {

/// "As[3][17]", for the element of an array that holds this byte. Within an element: "q[3], byte 4
/// of it".
std::string element_name(const std::string& array, const SharedShape& shape, size_t byte);

/// "global memory, element 17 of 64", or in bytes where the elements are not known.
std::string device_name(uintptr_t address);

/// "As" for the mangled "_ZZ6kernelPfE2As".
std::string short_name(const std::string& symbol);

}  // namespace simulator
