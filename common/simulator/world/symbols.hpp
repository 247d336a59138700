// What the program's own symbol table says: where the __shared__ arrays lie, and which source line
// an instruction comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace simulator {

/// A `__shared__` array: a static thread_local variable of a function (device_functions.h).
struct SharedArray {
  std::string symbol;  // mangled, as in "_ZZ6kernelPfE2As"
  uintptr_t offset;    // in the program's thread-local storage
  size_t bytes;
  size_t source;  // tells apart what has one name in the anonymous namespaces of two sources
  bool declares_itself = false;  // a call to declare_shared() follows it (shared_shape.h)
};

/// All of the program's __shared__ arrays, ordered by offset.
const std::vector<SharedArray>& shared_arrays();
/// Where the __shared__ arrays and the gaps between them begin, and what lies at each byte from
/// there on: the array's place in shared_arrays(), or one of these.
inline constexpr int16_t kGap = -1, kOtherVariable = -2;
uintptr_t shared_begin();
const std::vector<int16_t>& shared_owners();
/// The start of the calling thread's copy of the thread-local storage that offsets count from.
unsigned char* thread_local_base();
size_t thread_local_bytes();
/// Is there, so far behind that start, a variable of the simulator, which no kernel may touch?
bool is_simulators_own(uintptr_t offset);
/// Bytes of the __shared__ arrays of the kernel at this address.
size_t static_shared_bytes(const void* kernel);

/// "shared_tile_kernel<16>": a function's name without its namespace and parameters; "" if unknown.
std::string function_name(const void* address);

/// The function that this instruction is in begins here; null where none is known before it.
const void* function_around(const void* instruction);

/// The same of a kernel, or what is written at its launch where nothing is known of the address.
std::string kernel_name(const void* address, const char* written);

/// "tutorial::(anonymous namespace)::kernel<(bool)1>": a function's name with its namespace, as
/// c++filt -p has it.
std::string scoped_function_name(const void* address);

/// Where the program was loaded: instructions are told apart by their distance from here.
uintptr_t program_start();
/// Is this the program's own code or one of its static variables or constants?
bool is_in_program(uintptr_t address);

struct SourcePlace {
  std::string path;  // "" when the program has no line for the instruction
  int line = 0;
  /// "tile.cuh:40, in file.cu:84": the lines of the program's own sources that called this one's
  /// function, up to the kernel's; "" in the kernel itself.
  std::string callers{};
};
inline SourcePlace place_of(const std::source_location& where) {
  return {where.file_name(), static_cast<int>(where.line())};
}
/// The place that an instruction comes from, or what stands for one (call_stack.hpp). Slow when it
/// is asked for the first time.
SourcePlace source_place(const void* instruction);
/// The same of a place that is known, with its callers: `instruction` comes from it.
SourcePlace source_place(const std::source_location& where, const void* instruction);
std::vector<SourcePlace> source_places(const std::vector<const void*>& instructions);

/// "file.cu:41   the line's text", as far as they are known; "words.cuh:9   its text   (called in
/// tile.cuh:40, in file.cu:84)".
std::string line_with_text(const SourcePlace& place);
std::string source_line_with_text(const void* instruction);

}  // namespace simulator
