// The functions that code compiled with -fsanitize=thread calls at every memory access. Kernels are
// compiled so, and linked with these in place of the sanitizer's own. Here they count; the checks
// come into access().
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/simulator/run/block.hpp"
#include "common/simulator/world/pages.hpp"
#include "common/simulator/world/threads.hpp"

namespace simulator {
namespace {

/// An access that is not of the running thread's own variables.
[[gnu::noinline]] void access_elsewhere(Worker* worker, uintptr_t at, size_t bytes, bool is_store,
                                        const void* instruction) {
  if (worker == nullptr) {
    const void* const address = reinterpret_cast<const void*>(at);
    if (is_device_address(address)) host_access(address, instruction);
    return;
  }
  const SimulatorScope scope;  // what is remembered of it is no memory of the kernel's (heap.cpp)
  const AccessKind kind = is_store ? AccessKind::write : AccessKind::read;
  const auto note = [&](Access access, uintptr_t where) {
    worker->trace->access(worker->current(), worker->call_before(instruction), access, where,
                          bytes);
  };
  const auto end_here = [&] {
    worker->crash(SIGSEGV, reinterpret_cast<const void*>(at),
                  static_cast<const char*>(instruction) - 1);
  };
  if (at - worker->device < kDeviceSpan) {
    if (worker->trace) note(is_store ? Access::store : Access::load, at);
    if (worker->checks) worker->checks->global_access(at, bytes, kind, instruction);
    if (!kIsFenced && (is_closed(at) || is_closed(at + bytes - 1))) end_here();
  } else if (worker->is_shared(at)) {
    if (worker->trace) note(is_store ? Access::shared_store : Access::shared_load, at);
    if (worker->checks) worker->checks->shared_access(at, bytes, kind, instruction);
  } else if (worker->watch_locals && worker->is_own_stack(at)) {
    worker->hopper->products.local_access(at, bytes, is_store, instruction);
  } else if (worker->is_of_simulator(at)) {
    end_here();
  } else if ((worker->checks || worker->trace) && !worker->is_private(at)) {
    if (RunningBlock* const owner = worker->owner_in_cluster(at)) {
      if (worker->trace)
        note(is_store ? Access::shared_store : Access::shared_load,
             worker->own_address(at, *owner));
      if (worker->checks) worker->checks->remote_access(*owner, at, bytes, kind, instruction);
    } else if (worker->checks) {
      worker->checks->foreign_access(at, bytes, kind, instruction);
    }
    if (!kIsFenced && !(is_mapped(at) && is_mapped(at + bytes - 1))) end_here();
  }
}

/// Most accesses are of the thread's own variables: for them this is all.
inline void access(const void* address, size_t bytes, bool is_store, const void* instruction) {
  Worker* const worker = kernel_worker();
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  if (worker != nullptr && worker->is_own_stack(at) && !worker->watch_locals) return;
  access_elsewhere(worker, at, bytes, is_store, instruction);
}

}  // namespace
}  // namespace simulator

#define ACCESS(suffix, bytes)                                              \
  void __tsan_read##suffix(void* address) {                                \
    simulator::access(address, bytes, false, __builtin_return_address(0)); \
  }                                                                        \
  void __tsan_write##suffix(void* address) {                               \
    simulator::access(address, bytes, true, __builtin_return_address(0));  \
  }

// Atomic built-ins in host code of a .cu file (std::shared_ptr, say) keep their meaning.
#define ATOMIC_OPERATION(bits, name, builtin)                                                      \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* p, uint##bits##_t v, int) { \
    return builtin(p, v, __ATOMIC_SEQ_CST);                                                        \
  }
#define ATOMICS(bits)                                                                              \
  ATOMIC_OPERATION(bits, exchange, __atomic_exchange_n)                                            \
  ATOMIC_OPERATION(bits, fetch_add, __atomic_fetch_add)                                            \
  ATOMIC_OPERATION(bits, fetch_sub, __atomic_fetch_sub)                                            \
  ATOMIC_OPERATION(bits, fetch_and, __atomic_fetch_and)                                            \
  ATOMIC_OPERATION(bits, fetch_or, __atomic_fetch_or)                                              \
  ATOMIC_OPERATION(bits, fetch_xor, __atomic_fetch_xor)                                            \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* p, int) {               \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* p, uint##bits##_t v, int) {            \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(                                               \
      volatile uint##bits##_t* p, uint##bits##_t* expected, uint##bits##_t v, int, int) {          \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* p,                      \
                                                  uint##bits##_t* expected, uint##bits##_t v,      \
                                                  int success, int failure) {                      \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, v, success, failure);        \
  }

extern "C" {
// Of -fsanitize=alignment and -fsanitize=object-size, whose tests are made in line: called only
// when one fails (or the pointer is null, which the access itself will show). The second is of a
// pointer that was made, in this function, from an array or a variable, and has left it. (The
// layout of what it is given: GCC's ubsan.cc.)
void __ubsan_handle_type_mismatch_v1(void* data, uintptr_t address) {
  simulator::Worker* worker = simulator::kernel_worker();
  if (worker == nullptr || address == 0) return;
  struct TypeMismatch {
    const char* file;
    uint32_t line, column;
    const void* type;
    unsigned char log_of_alignment;
  };
  const unsigned alignment = 1u << static_cast<const TypeMismatch*>(data)->log_of_alignment;
  const void* instruction = static_cast<const char*>(__builtin_return_address(0)) - 1;
  if (address % alignment != 0)
    worker->crash(SIGBUS, reinterpret_cast<const void*>(address), instruction);
  if (worker->is_own_stack(address)) worker->crash_past_local(instruction);
}

// Of -fsanitize=bounds, whose test is made in line, too: an index outside an array of known size,
// even where another array begins right behind it. (The layout of what it is given: GCC's
// ubsan.cc.)
void __ubsan_handle_out_of_bounds(void* data, uintptr_t index) {
  simulator::Worker* worker = simulator::kernel_worker();
  if (worker == nullptr) return;
  struct Type {
    uint16_t kind, info;
    char name[1];
  };
  struct OutOfBounds {
    const char* file;
    uint32_t line, column;
    const Type* array;
    const Type* index;
  };
  const auto* what = static_cast<const OutOfBounds*>(data);
  // `info` holds the index's width, as a power of two, and whether it has a sign.
  const int bits = 1 << (what->index->info >> 1);
  const bool is_signed = what->index->info & 1;
  const int64_t value =
      is_signed && bits == 32 ? static_cast<int32_t>(index) : static_cast<int64_t>(index);
  worker->crash_at_index(what->array->name, value,
                         static_cast<const char*>(__builtin_return_address(0)) - 1);
}

ACCESS(1, 1)
ACCESS(2, 2)
ACCESS(4, 4)
ACCESS(8, 8)
ACCESS(16, 16)
void __tsan_unaligned_read2(void* address) {
  simulator::access(address, 2, false, __builtin_return_address(0));
}
void __tsan_unaligned_read4(void* address) {
  simulator::access(address, 4, false, __builtin_return_address(0));
}
void __tsan_unaligned_read8(void* address) {
  simulator::access(address, 8, false, __builtin_return_address(0));
}
void __tsan_unaligned_read16(void* address) {
  simulator::access(address, 16, false, __builtin_return_address(0));
}
void __tsan_unaligned_write2(void* address) {
  simulator::access(address, 2, true, __builtin_return_address(0));
}
void __tsan_unaligned_write4(void* address) {
  simulator::access(address, 4, true, __builtin_return_address(0));
}
void __tsan_unaligned_write8(void* address) {
  simulator::access(address, 8, true, __builtin_return_address(0));
}
void __tsan_unaligned_write16(void* address) {
  simulator::access(address, 16, true, __builtin_return_address(0));
}
void __tsan_read_range(void* address, size_t bytes) {
  simulator::access(address, bytes, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, size_t bytes) {
  simulator::access(address, bytes, true, __builtin_return_address(0));
}
// Clang's, in place of memcpy() and its like; GCC calls the functions themselves.
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  simulator::access(from, bytes, false, __builtin_return_address(0));
  simulator::access(to, bytes, true, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  simulator::access(from, bytes, false, __builtin_return_address(0));
  simulator::access(to, bytes, true, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) {
  simulator::access(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
// An object's pointer to its virtual functions: its constructor writes it, a call reads it.
void __tsan_vptr_update(void** pointer, void*) {
  simulator::access(pointer, sizeof(void*), true, __builtin_return_address(0));
}
void __tsan_vptr_read(void** pointer) {
  simulator::access(pointer, sizeof(void*), false, __builtin_return_address(0));
}
void __tsan_func_entry(void* after) {
  simulator::Worker* worker = simulator::kernel_worker();
  if (worker == nullptr) return;
  worker->enter_function(__builtin_return_address(0), after);
  if (!simulator::heed.load(std::memory_order_relaxed) || !worker->trace) return;
  const simulator::SimulatorScope scope;
  worker->trace->enter_function(worker->current());
}
void __tsan_func_exit() {
  simulator::Worker* worker = simulator::kernel_worker();
  if (worker == nullptr) return;
  worker->leave_function();
  if (!simulator::heed.load(std::memory_order_relaxed) || !worker->trace) return;
  const simulator::SimulatorScope scope;
  worker->trace->leave_function(worker->current());
}
// Of -fsanitize-coverage=trace-pc: a basic block of the program begins.
void __sanitizer_cov_trace_pc() {
  simulator::look_meanwhile();
  if (!simulator::heed.load(std::memory_order_relaxed)) return;
  simulator::Worker* worker = simulator::kernel_worker();
  if (worker == nullptr) return;
  const void* instruction = __builtin_return_address(0);
  worker->heed_watch(instruction);
  if (!worker->trace) return;
  const simulator::SimulatorScope scope;
  worker->trace->block_entered(worker->current(), worker->call_before(instruction));
}
// exit() in a kernel would wait for this very thread. (The linker's --wrap sends calls of exit()
// here.)
[[noreturn]] void __real_exit(int status);
[[noreturn]] void __wrap_exit(int status) {
  if (simulator::Worker* worker = simulator::kernel_worker())
    worker->crash_in_exit(static_cast<const char*>(__builtin_return_address(0)) - 1);
  __real_exit(status);
}
void __tsan_init() {}
void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
}
