// The machine's memory has no pages that could be closed: which would be is noted, and each access
// looks.
#include "common/simulator/world/pages.hpp"

#include <bitset>
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

using Pages = std::bitset<(uint64_t{1} << 32) / kPage>;
Pages& closed() {
  static auto& the_pages = *new Pages;
  return the_pages;
}
void note(void* begin, size_t bytes, bool is_closed) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / kPage;
  for (size_t page = 0; page < (bytes + kPage - 1) / kPage; ++page)
    closed().set(first + page, is_closed);
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
  unsigned char* const pages = map(bytes, what);
  note(pages, bytes, true);
  return pages;
}
void unmap_pages(void* begin, size_t bytes) {
  note(begin, bytes, false);
  unused().emplace(bytes, static_cast<unsigned char*>(begin));
}
bool is_mapped(uintptr_t address) {
  return address >= kMachinePage && address / kMachinePage < __builtin_wasm_memory_size(0);
}
bool is_closed(uintptr_t address) {
  return closed()[address / kPage];
}
bool open_pages(void* begin, size_t bytes) {
  note(begin, bytes, false);
  return true;
}
void close_pages(void* begin, size_t bytes) {
  note(begin, bytes, true);
}
void empty_pages(void* begin, size_t bytes) {
  std::memset(begin, 0, bytes);
  close_pages(begin, bytes);
}

}  // namespace simulator
