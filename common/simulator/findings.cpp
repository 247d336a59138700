#include "common/simulator/findings.hpp"

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
  std::string report;  // empty: one too many
  cudaError_t error = cudaSuccess;
  int64_t count = 0;
};
using Instructions = std::tuple<std::string, uintptr_t, const void*, const void*>;

std::mutex mutex;
std::map<Lines, Found> all;                      // ordered by kind and line, on however many cores
std::map<Instructions, Found*> by_instructions;  // the same, at hand
size_t reports = 0, notes = 0;

int rank_of(std::string_view kind) {
  return kind == "bounds" ? 0 : kind == "barrier" ? 1 : kind == "race" ? 2 : kind == "init" ? 3 : 4;
}

Line line_of(const SourcePlace& place, const void* instruction) {
  if (place.line > 0) return {place.path, place.line};
  return {"", static_cast<int>(reinterpret_cast<uintptr_t>(instruction) - program_start())};
}

Found& at(const Finding& finding, Line first, Line second,
          const std::function<std::string()>& report) {
  if (second < first) std::swap(first, second);
  const auto [entry, is_new] =
      all.try_emplace({rank_of(finding.kind), finding.kind, first, second, finding.array});
  if (is_new) {
    entry->second.error = finding.error;
    size_t& of_its_kind = finding.error == cudaSuccess ? notes : reports;
    if (++of_its_kind <= kMostReports) entry->second.report = report();
  }
  return entry->second;
}

}  // namespace

void count_finding(const Finding& finding, const void* first, const void* second,
                   const std::function<std::string()>& report) {
  const std::lock_guard lock(mutex);
  if (second < first) std::swap(first, second);
  Found*& found = by_instructions[{finding.kind, finding.array, first, second}];
  if (found == nullptr)
    found = &at(finding, line_of(source_place(first), first), line_of(source_place(second), second),
                report);
  ++found->count;
}

void count_finding(const Finding& finding, const SourcePlace& place,
                   const std::function<std::string()>& report) {
  const std::lock_guard lock(mutex);
  const Line line{place.path, place.line};
  ++at(finding, line, line, report).count;
}

std::pair<cudaError_t, std::string> take_findings() {
  const std::lock_guard lock(mutex);
  cudaError_t error = cudaSuccess;
  std::string text;
  for (const auto& [lines, found] : all) {
    if (error == cudaSuccess) error = found.error;
    if (!found.report.empty())
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
  reports = notes = 0;
  return {error, text};
}

}  // namespace simulator
