// What the program's own symbol table says: where the __shared__ arrays lie, and which source line
// an instruction comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simulator {

/// A `__shared__` array: a static thread_local variable of a function (device_functions.h).
struct SharedArray {
  std::string symbol;  // mangled, as in "_ZZ6kernelPfE2As"
  uintptr_t offset;    // in the program's thread-local storage
  size_t bytes;
};

/// All of the program's __shared__ arrays, ordered by offset.
const std::vector<SharedArray>& shared_arrays();
/// The start of the calling thread's copy of the thread-local storage that offsets count from.
unsigned char* thread_local_base();
/// Bytes of the __shared__ arrays of the kernel at this address.
size_t static_shared_bytes(const void* kernel);

/// "shared_tile_kernel<16>": a function's name without its namespace and parameters; "" if unknown.
std::string function_name(const void* address);

/// Where the program was loaded: instructions are told apart by their distance from here.
uintptr_t program_start();

struct SourcePlace {
  std::string path;  // "" when the program has no line for the instruction
  int line = 0;
};
/// The places that these instructions come from, in their order. One run of addr2line for all.
std::vector<SourcePlace> source_places(const std::vector<const void*>& instructions);

/// "file.cu:41   the line's text", as far as they are known. Slow, as source_line.
std::string source_line_with_text(const void* instruction);

/// "file.cu:41", or "" when the program has no line for the instruction. Slow: runs addr2line.
std::string source_line(const void* instruction);

}  // namespace simulator
