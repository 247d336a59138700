// The end of a learner's own program (tutorial_program): says whether the checks found anything. A
// program that asks for no error would end with 0 all the same; here it ends with 1.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/report.hpp"

namespace {

void at_end(int status, void*) {
  const bool of_launch = simulator::last_error_is_of_a_launch();
  const cudaError_t error = cudaGetLastError();
  const bool found = !simulator::last_finding().empty();
  std::fflush(nullptr);
  const unsigned launches = simulator::launches_made();
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
  else if (launches > 0 && simulator::checks_are_on())
    std::fprintf(stderr, "%u launch%s; the checks found nothing.\n", launches,
                 launches == 1 ? "" : "es");
  if (status == 0 && (found || error != cudaSuccess)) _exit(1);
}

[[maybe_unused]] const int registered = on_exit(at_end, nullptr);

}  // namespace
