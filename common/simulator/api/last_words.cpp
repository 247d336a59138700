#include "common/simulator/api/last_words.hpp"

#include <cstdio>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/report.hpp"

int simulator::say_last_words(int status) {
  const bool of_launch = last_error_is_of_a_launch();
  const cudaError_t error = cudaGetLastError();
  const bool found = !last_finding().empty();
  std::fflush(nullptr);
  const unsigned launches = launches_made();
  if (found)
    std::fputs("The checks found what is said above; docs/simulator.md says how to read it.\n",
               stderr);
  else if (error != cudaSuccess)
    std::fprintf(
        stderr, "%s: %s (%s). %s\n",
        of_launch ? "The program did not ask for this error" : "A call returned this error",
        cudaGetErrorName(error), cudaGetErrorString(error),
        of_launch ? "Ask cudaGetLastError() after each launch."
                  : "Look at what each call returns.");
  else if (launches > 0 && checks_are_on())
    std::fprintf(stderr, "%u launch%s; the checks found nothing.\n", launches,
                 launches == 1 ? "" : "es");
  return status == 0 && (found || error != cudaSuccess) ? 1 : status;
}
