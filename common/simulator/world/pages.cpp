#include "common/simulator/world/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace simulator {
namespace {

constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

unsigned char* map(size_t bytes, int protection, const char* what) {
  void* const pages = mmap(nullptr, bytes, protection, kOwn, -1, 0);
  if (pages == MAP_FAILED) {
    std::fprintf(stderr, "The simulator found no room for %s.\n", what);
    std::exit(2);
  }
  return static_cast<unsigned char*>(pages);
}

}  // namespace

size_t host_memory_size() {
  size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  size_t limit = 0;  // a container's, if it has one
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit > 0)
    bytes = std::min(bytes, limit);
  return bytes;
}

unsigned char* map_pages(size_t bytes, const char* what) {
  return map(bytes, PROT_READ | PROT_WRITE, what);
}
unsigned char* map_closed_pages(size_t bytes, const char* what) {
  return map(bytes, PROT_NONE, what);
}
void unmap_pages(void* begin, size_t bytes) {
  munmap(begin, bytes);
}

bool is_mapped(uintptr_t address) {
  return msync(reinterpret_cast<void*>(address / kPage * kPage), 1, MS_ASYNC) == 0;
}
bool is_closed(uintptr_t) {
  return false;
}

bool open_pages(void* begin, size_t bytes) {
  return mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0;
}
void close_pages(void* begin, size_t bytes) {
  mprotect(begin, bytes, PROT_NONE);
}
void empty_pages(void* begin, size_t bytes) {
  mmap(begin, bytes, PROT_NONE, kOwn | MAP_FIXED, -1, 0);
}

}  // namespace simulator
