#include "common/simulator/report.hpp"

#include <cstdio>
#include <mutex>
#include <string_view>

#include "common/simulator/device.hpp"

namespace simulator {
namespace {
std::mutex mutex;
std::string last;
}  // namespace

std::string triple(uint3 index) {
  std::string text = "(" + std::to_string(index.x) + "," + std::to_string(index.y);
  if (index.z != 0) text += "," + std::to_string(index.z);
  return text + ")";
}

std::string file_line(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

std::string describe_address(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  char text[256];
  if (!is_device_address(address)) {
    std::snprintf(text, sizeof text, "  the address %p is not device memory\n", address);
    return text;
  }
  const Allocation nearest = nearest_allocation(address);
  if (nearest.bytes == 0) {
    std::snprintf(text, sizeof text, "  the address %p is device memory that is not allocated\n",
                  address);
  } else if (at < nearest.begin) {
    std::snprintf(text, sizeof text,
                  "  the address is %zu bytes before the start of an allocation of %zu bytes\n",
                  static_cast<size_t>(nearest.begin - at), nearest.bytes);
  } else {
    std::snprintf(text, sizeof text,
                  "  the address is %zu bytes past the end of an allocation of %zu bytes\n",
                  static_cast<size_t>(at - nearest.begin - nearest.bytes), nearest.bytes);
  }
  return text;
}

void publish(const std::string& report) {
  const std::lock_guard lock(mutex);
  std::fputs(report.c_str(), stderr);
  last = report;
}

std::string last_report() {
  const std::lock_guard lock(mutex);
  return last;
}

}  // namespace simulator
