#include "common/simulator/api/last_words.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/coverage.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/report.hpp"

namespace simulator {
namespace {

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// What is no fault, and worth knowing: nothing of it changes the exit status.
std::vector<std::string> notes(const NotAsked& not_asked) {
  const std::vector<Allocation> live = live_allocations();
  size_t bytes = 0;
  for (const Allocation& allocation : live) {
    look_at_coverage(allocation);
    bytes += allocation.bytes;
  }
  std::vector<std::string> list = coverage_notes();
  if (!live.empty())
    list.push_back(counted(live.size(), "allocation") + " of device memory, " +
                   counted(bytes, "byte") + ", " + (live.size() == 1 ? "was" : "were") +
                   " never freed: cudaFree()");
  if (not_asked.launches > 0)
    list.push_back("nobody asked for the error of " + std::to_string(not_asked.launches) +
                   (not_asked.launches == 1 ? " launch, " : " launches, the first ") +
                   file_line(not_asked.first) +
                   ": one that CUDA refuses says so in cudaGetLastError() alone");
  return list;
}

}  // namespace
}  // namespace simulator

int simulator::say_last_words(int status) {
  const NotAsked not_asked = launches_not_asked();
  const bool of_launch = last_error_is_of_a_launch();
  const cudaError_t error = cudaGetLastError();
  const bool found = !last_finding().empty();
  std::fflush(nullptr);
  const unsigned launches = launches_made();
  if (found) {
    std::fputs("The checks found what is said above; docs/simulator.md says how to read it.\n",
               stderr);
  } else if (error != cudaSuccess) {
    std::fprintf(
        stderr, "%s: %s (%s). %s\n",
        of_launch ? "The program did not ask for this error" : "A call returned this error",
        cudaGetErrorName(error), cudaGetErrorString(error),
        of_launch ? "Ask cudaGetLastError() after each launch."
                  : "Look at what each call returns.");
  } else if (launches > 0 && checks_are_on()) {
    for (const std::string& note : notes(not_asked))
      std::fprintf(stderr, "note: %s\n", note.c_str());
    std::fprintf(stderr, "%u launch%s; the checks found nothing.\n", launches,
                 launches == 1 ? "" : "es");
  }
  return status == 0 && (found || error != cudaSuccess) ? 1 : status;
}
