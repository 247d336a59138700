// What `throw` is in translate.wasm, which has no exceptions: main() would say what is thrown and
// return 1, and so does this.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

extern "C" {
void* __cxa_allocate_exception(size_t bytes) noexcept {
  return std::malloc(bytes);
}
void __cxa_free_exception(void* exception) noexcept {
  std::free(exception);
}
// The translator throws nothing that is no std::exception, and none of these has another base class
// before it.
[[noreturn]] void __cxa_throw(void* exception, void*, void* (*)(void*)) {
  std::fprintf(stderr, "%s\n", static_cast<std::exception*>(exception)->what());
  std::exit(1);
}
}
