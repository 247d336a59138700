#include "common/simulator/device/report.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/simulator/device/device.hpp"

namespace simulator {
namespace {
std::mutex mutex;
std::string last, last_with_error;
}  // namespace

std::string triple(uint3 index) {
  std::string text = "(" + std::to_string(index.x) + "," + std::to_string(index.y);
  if (index.z != 0) text += "," + std::to_string(index.z);
  return text + ")";
}

std::string place_in_grid(const dim3& grid, const dim3& block, uint32_t block_number,
                          uint32_t thread_number) {
  const auto of = [](uint32_t number, const dim3& size) {
    return triple({number % size.x, number / size.x % size.y, number / (size.x * size.y)});
  };
  return "block " + of(block_number, grid) + " thread " + of(thread_number, block);
}

std::string file_line(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

std::string describe_address(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  char text[256];
  if (!is_device_address(address)) {
    std::snprintf(text, sizeof text, "  the address %p is not global memory\n", address);
    return text;
  }
  if (const Allocation freed = freed_allocation(address); freed.bytes != 0) {
    std::snprintf(text, sizeof text,
                  "  freed memory: %zu bytes into an allocation of %zu bytes that was freed\n"
                  "  likely: cudaFree came too early, or the array's owner is gone\n",
                  static_cast<size_t>(at - freed.begin), freed.bytes);
    return text;
  }
  const Allocation nearest = nearest_allocation(address);
  if (nearest.begin == 0) {
    std::snprintf(text, sizeof text, "  the address %p is global memory that is not allocated\n",
                  address);
    return text;
  }
  std::string elements;
  if (nearest.element != 0)
    elements = " (" + std::to_string(nearest.bytes / nearest.element) + " elements of " +
               std::to_string(nearest.element) + ")";
  const uintptr_t end = nearest.begin + nearest.bytes;
  if (at >= nearest.begin && at < end)  // an access of several bytes, of which the first are inside
    std::snprintf(
        text, sizeof text,
        "  the access begins %zu bytes before the end of an allocation of %zu bytes%s, and "
        "reaches over it\n",
        static_cast<size_t>(end - at), nearest.bytes, elements.c_str());
  else
    std::snprintf(text, sizeof text, "  the address is %zu bytes %s an allocation of %zu bytes%s\n",
                  static_cast<size_t>(at < nearest.begin ? nearest.begin - at : at - end),
                  at < nearest.begin ? "before the start of" : "past the end of", nearest.bytes,
                  elements.c_str());
  return text + std::string(
                    "  likely: a guard is missing or compares with the wrong size, or an index "
                    "is wrong\n");
}

namespace {

/// The findings of a report: each begins on a line that is not indented.
std::vector<std::string> findings_of(const std::string& report) {
  std::vector<std::string> findings;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (findings.empty() || !line.starts_with(' ')) findings.emplace_back();
    findings.back() += line + "\n";
  }
  return findings;
}

/// "race, step1.cu:35 step1.cu:41": a finding's kind and its lines, of which `most` are wanted. One
/// without lines is its first line.
std::string kind_and_lines(const std::string& finding, size_t most) {
  static const std::regex kLine("[^ /]+\\.(cu|cuh|cpp|hpp|h):[0-9]+");
  std::sregex_iterator line(finding.begin(), finding.end(), kLine);
  const std::sregex_iterator end;
  if (line == end) return finding.substr(0, finding.find('\n'));
  std::string text = finding.substr(0, finding.find(' ')) + ",";
  for (; line != end && most > 0; ++line, --most) text += " " + line->str();
  return text;
}

}  // namespace

void publish(const std::string& report, cudaError_t error) {
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  last = report;
  const std::vector<std::string> findings = findings_of(report);
  if (error != cudaSuccess && !findings.empty()) last_with_error = kind_and_lines(findings[0], 1);
  if (isatty(STDERR_FILENO) != 0)
    std::fputs("\r\033[K", stderr);  // a line of progress may stand there
  for (const std::string& finding : findings)
    if (told.insert(kind_and_lines(finding, SIZE_MAX)).second) std::fputs(finding.c_str(), stderr);
}

std::string last_report() {
  const std::lock_guard lock(mutex);
  return last;
}
std::string last_finding() {
  const std::lock_guard lock(mutex);
  return last_with_error;
}

}  // namespace simulator
