// Memory for exceptions: libc++abi's own keeps some back for when there is none.
#include <stdlib.h>
#include <cstddef>

namespace __cxxabiv1 {

void* __aligned_malloc_with_fallback(size_t bytes) {
  constexpr size_t alignment = 16;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void __aligned_free_with_fallback(void* memory) {
  free(memory);
}
void* __calloc_with_fallback(size_t count, size_t bytes) {
  return calloc(count, bytes);
}
void __free_with_fallback(void* memory) {
  free(memory);
}

}  // namespace __cxxabiv1
