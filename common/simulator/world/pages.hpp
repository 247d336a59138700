// Addresses in whole pages. Their memory comes when they are first touched, and some of them nobody
// may touch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulator {

inline constexpr size_t kPage = 4096;

/// With addresses of 32 bits nobody may take more of them than he needs.
inline constexpr bool kIsSmallWorld = sizeof(void*) == 4;

/// Does an access of what is not mapped end in a crash, also near null?
#ifdef __wasm__
inline constexpr bool kIsFenced = false;
#else
inline constexpr bool kIsFenced = true;
#endif

/// Bytes that this process may use.
size_t host_memory_size();

/// New pages; closed ones nobody may touch. Where there is no room the program ends: "The simulator
/// found no room for `what`."
unsigned char* map_pages(size_t bytes, const char* what);
unsigned char* map_closed_pages(size_t bytes, const char* what);
void unmap_pages(void* begin, size_t bytes);

/// Does anything lie at this address of the process?
bool is_mapped(uintptr_t address);
/// Is it in closed pages? Only asked where nothing else would notice (kIsFenced).
bool is_closed(uintptr_t address);

/// From now on they may be touched; false where there is too little memory.
bool open_pages(void* begin, size_t bytes);
/// From now on they may not.
void close_pages(void* begin, size_t bytes);
/// The same, and what they hold is lost.
void empty_pages(void* begin, size_t bytes);

}  // namespace simulator
