// The machine's memory has no pages that could be closed: who may touch what is the checks' matter.
#include "common/simulator/world/pages.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace simulator {
namespace {

constexpr size_t kMachinePage = 65536;

/// What was given back, by its size: the machine takes nothing back.
std::multimap<size_t, unsigned char*>& unused() {
  static auto& the_pages = *new std::multimap<size_t, unsigned char*>;
  return the_pages;
}

unsigned char* map(size_t bytes, const char* what) {
  const auto found = unused().find(bytes);
  if (found != unused().end()) {
    unsigned char* const pages = found->second;
    unused().erase(found);
    std::memset(pages, 0, bytes);
    return pages;
  }
  const size_t page = __builtin_wasm_memory_grow(0, (bytes + kMachinePage - 1) / kMachinePage);
  if (page == SIZE_MAX) {
    std::fprintf(stderr, "The simulator found no room for %s.\n", what);
    std::exit(2);
  }
  return reinterpret_cast<unsigned char*>(page * kMachinePage);
}

}  // namespace

size_t host_memory_size() {
  return size_t{1} << 29;
}
unsigned char* map_pages(size_t bytes, const char* what) {
  return map(bytes, what);
}
unsigned char* map_closed_pages(size_t bytes, const char* what) {
  return map(bytes, what);
}
void unmap_pages(void* begin, size_t bytes) {
  unused().emplace(bytes, static_cast<unsigned char*>(begin));
}
bool is_mapped(uintptr_t address) {
  return address >= kMachinePage && address / kMachinePage < __builtin_wasm_memory_size(0);
}
bool open_pages(void*, size_t) {
  return true;
}
void close_pages(void*, size_t) {}
void empty_pages(void* begin, size_t bytes) {
  std::memset(begin, 0, bytes);
}

}  // namespace simulator
