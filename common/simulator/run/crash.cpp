// A thread of a kernel has crashed: what that was.
#include <csignal>

#include "common/simulator/device/report.hpp"
#include "common/simulator/run/block.hpp"

namespace simulator {
namespace {

// A stack grows by touching the memory just below where it has come to (-fstack-clash-protection).
constexpr uintptr_t kNear = 2 * 4096;

/// As GCC writes it: Clang has 'float[16]'.
std::string with_space(std::string array) {
  const size_t at = array.find('[');
  if (at != array.npos && array[at - 1] != ' ') array.insert(at, " ");
  return array;
}

}  // namespace

void Worker::crash(const Crash& crash) {
  crash_ = crash;
  kernel_block = nullptr;  // what follows is no kernel's doing
  way_out_.leave();
}

void Worker::crash_at_index(const char* array, int64_t index, const void* instruction) {
  crash_array_ = array;
  crash_index_ = index;
  crash(kIndex, nullptr, instruction);
}

void Worker::throw_crash() {
  fiber_->was_left();
  const void* const after = with_callers(static_cast<const char*>(crash_.instruction) + 1);
  const SourcePlace line = source_place(static_cast<const char*>(after) - 1);
  std::string text = where_is(current_) + (line.line > 0 ? "  " + line_with_text(line) : "") + "\n";
  cudaError_t error = cudaErrorIllegalAddress;
  const uintptr_t address = reinterpret_cast<uintptr_t>(crash_.address);
  if (crash_.signal == kStopped) {
    text = "endless in " + text + progress.why();
    error = cudaErrorLaunchFailure;
  } else if (crash_.signal == kExit) {
    text = "exit in " + text +
           "  device code cannot end the program, and nvcc refuses the call\n"
           "  likely: a return, or __trap() to stop the kernel with an error\n";
    error = cudaErrorLaunchFailure;
  } else if (crash_.signal == kPastLocal) {
    text = "bounds in " + text +
           "  past the end of a local variable or array\n  likely: a loop or an index goes beyond "
           "its size\n";
  } else if (crash_.signal == kIndex) {
    text = "bounds in " + text + "  index " + std::to_string(crash_index_) +
           " is outside an array " + with_space(crash_array_) +
           "\n  likely: a loop or a guard goes beyond the array's size\n";
  } else if (crash_.signal == SIGFPE) {
    text = "arithmetic in " + text + "  an integer was divided by zero\n";
    error = cudaErrorLaunchFailure;
  } else if (crash_.signal == SIGABRT) {
    text = "assert in " + text;
    error = cudaErrorAssert;
  } else if (crash_.signal == SIGILL || crash_.signal == SIGTRAP) {
    text = "trap in " + text;
    error = cudaErrorLaunchFailure;
  } else if (is_stack(address) && address - crash_.stack + kNear < 2 * kNear) {
    text = "stack in " + text + "  the thread's local variables need more than " +
           std::to_string((kStack - kPage) / 1024) + " KB, or it calls itself without end\n";
    error = cudaErrorLaunchFailure;
  } else if (is_stack(address)) {
    text = "bounds in " + text +
           "  far outside the thread's local variables and arrays\n"
           "  likely: an index of a local array is wrong or was never set\n";
  } else if (crash_.signal == SIGBUS) {
    text = "bounds in " + text +
           "  the access is wider than its address is aligned: a float4 must " +
           "lie at a multiple of 16 bytes, a float2 of 8\n"
           "  likely: a row's length or an offset is no multiple of 4 floats\n";
    error = cudaErrorMisalignedAddress;
  } else if (address == 0) {
    text = "bounds in " + text + "  a null pointer\n  likely: nothing was allocated for it\n";
  } else if (checks && checks->has_reported(address)) {
    text.clear();  // the report of the access is enough
  } else if (is_of_simulator(address)) {
    text = "bounds in " + text + near_shared_array(address);
  } else {
    text = "bounds in " + text + describe_address(crash_.address);
  }
  throw Fault(error, text);
}

}  // namespace simulator
