#include "common/simulator/device/findings.hpp"

#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

namespace simulator {
namespace {

constexpr size_t kMostReports = 10;  // of one launch: more say no more

using Line = std::pair<std::string, int>;
struct Lines {
  int rank;  // what comes first: init often follows from the others
  std::string kind;
  Line first, second;
  uintptr_t array;
  auto operator<=>(const Lines&) const = default;
};
struct Found {
  std::string report;
  cudaError_t error = cudaSuccess;
  uint32_t block = 0;
  int64_t count = 0;
};
using Instructions = std::tuple<std::string, uintptr_t, const void*, const void*>;

std::mutex mutex;
std::map<Lines, Found> all;                      // ordered by kind and line, on however many cores
std::map<Instructions, Found*> by_instructions;  // the same, at hand

int rank_of(std::string_view kind) {
  return kind == "bounds" ? 0 : kind == "barrier" ? 1 : kind == "race" ? 2 : kind == "init" ? 3 : 4;
}

Line line_of(const SourcePlace& place, const void* instruction) {
  if (place.line > 0) return {place.path, place.line};
  return {"", static_cast<int>(reinterpret_cast<uintptr_t>(instruction) - program_start())};
}

Found& at(const Finding& finding, Line first, Line second) {
  if (second < first) std::swap(first, second);
  return all[{rank_of(finding.kind), finding.kind, first, second, finding.array}];
}

void count(Found& found, const Finding& finding, const std::function<std::string()>& report) {
  if (found.count == 0 || finding.block < found.block)
    found = {report(), finding.error, finding.block, found.count};
  ++found.count;
}

}  // namespace

void count_finding(const Finding& finding, const void* first, const void* second,
                   const std::function<std::string()>& report) {
  const std::lock_guard lock(mutex);
  if (second < first) std::swap(first, second);
  Found*& found = by_instructions[{finding.kind, finding.array, first, second}];
  if (found == nullptr)
    found =
        &at(finding, line_of(source_place(first), first), line_of(source_place(second), second));
  count(*found, finding, report);
}

void count_finding(const Finding& finding, const SourcePlace& place,
                   const std::function<std::string()>& report) {
  const std::lock_guard lock(mutex);
  const Line line{place.path, place.line};
  count(at(finding, line, line), finding, report);
}

std::pair<cudaError_t, std::string> take_findings() {
  const std::lock_guard lock(mutex);
  cudaError_t error = cudaSuccess;
  std::string text;
  size_t reports = 0, notes = 0;
  for (const auto& [lines, found] : all) {
    if (error == cudaSuccess) error = found.error;
    // Threads that did too much, beyond a bound say, need no advice on their equal values.
    if (lines.kind == kSameValue && error != cudaSuccess) continue;
    size_t& of_its_kind = found.error == cudaSuccess ? notes : reports;
    if (++of_its_kind <= kMostReports)
      text += found.report + "  seen " + std::to_string(found.count) +
              (found.count == 1 ? " time\n" : " times\n");
  }
  if (reports > kMostReports) {
    const size_t more = reports - kMostReports;
    text += "and " + std::to_string(more) + " more " +
            (more == 1 ? "pair of lines" : "pairs of lines") + " with findings of this launch\n";
  }
  all.clear();
  by_instructions.clear();
  return {error, text};
}

}  // namespace simulator
