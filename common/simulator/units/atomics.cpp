// Atomic functions, fences and other things that kernels call but that must not be instrumented.
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/sample.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace {

void count(const void* address, size_t bytes, const void* instruction) {
  using simulator::Access, simulator::AccessKind;
  simulator::RunningBlock* running = simulator::current_block();
  if (running == nullptr) return;
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  const bool is_global = at - running->device < simulator::kDeviceSpan;
  simulator::RunningBlock* const owner = is_global ? nullptr : running->owner_in_cluster(at);
  if (!is_global && !running->is_shared(at) && !owner) {
    if (running->checks) running->checks->atomic_elsewhere();
    if (running->checks && !running->is_private(at))
      running->checks->foreign_access(at, bytes, AccessKind::atomic, instruction);
    return;
  }
  const simulator::SimulatorScope scope;
  if (running->trace)
    running->trace->access(running->current(), running->call_before(instruction),
                           is_global ? Access::atomic : Access::shared_atomic,
                           owner ? running->own_address(at, *owner) : at, bytes);
  if (!running->checks) return;
  if (is_global)
    running->checks->global_access(at, bytes, AccessKind::atomic, instruction);
  else if (owner)
    running->checks->remote_access(*owner, at, bytes, AccessKind::atomic, instruction);
  else
    running->checks->shared_access(at, bytes, AccessKind::atomic, instruction);
}

template <class T, class Update>
T update(T* address, const void* instruction, Update update) {
  count(address, sizeof(T), instruction);
  std::atomic_ref<T> cell(*address);
  T old = cell.load();
  while (!cell.compare_exchange_weak(old, update(old))) {
  }
  return old;
}

/// Of a counter in global memory, where only a sample of the blocks runs.
int64_t tickets(const void* address) {
  return simulator::is_device_address(address) ? simulator::tickets_of_one() : 1;
}

template <class T>
T compare_and_swap(T* address, T compare, T value, const void* instruction) {
  count(address, sizeof(T), instruction);
  std::atomic_ref<T>(*address).compare_exchange_strong(compare, value);
  return compare;
}

}  // namespace

#define ATOMIC_SCOPE(name, type, expression)                     \
  type name(type* address, type value) {                         \
    return update(address, __builtin_return_address(0),          \
                  [&](type old) -> type { return expression; }); \
  }
#define ATOMIC(name, type, expression)         \
  ATOMIC_SCOPE(name, type, expression)         \
  ATOMIC_SCOPE(name##_block, type, expression) \
  ATOMIC_SCOPE(name##_system, type, expression)
#define ATOMIC_INTEGERS(name, expression) \
  ATOMIC(name, int, expression)           \
  ATOMIC(name, unsigned int, expression)  \
  ATOMIC(name, unsigned long long, expression)

ATOMIC_INTEGERS(atomicAdd, old + value * static_cast<decltype(value)>(tickets(address)))
ATOMIC(atomicAdd, float, old + value)
ATOMIC(atomicAdd, double, old + value)
ATOMIC_SCOPE(atomicAdd, __half, old + value)
ATOMIC_SCOPE(atomicAdd, __half2, old + value)
ATOMIC_SCOPE(atomicAdd, __nv_bfloat16, old + value)
ATOMIC_SCOPE(atomicAdd, __nv_bfloat162, old + value)
ATOMIC(atomicSub, int, old - value)
ATOMIC(atomicSub, unsigned int, old - value)
ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), value))
ATOMIC(atomicExch, float, (static_cast<void>(old), value))
ATOMIC_INTEGERS(atomicMin, value < old ? value : old)
ATOMIC(atomicMin, long long, value < old ? value : old)
ATOMIC_INTEGERS(atomicMax, old < value ? value : old)
ATOMIC(atomicMax, long long, old < value ? value : old)
ATOMIC_INTEGERS(atomicAnd, old& value)
ATOMIC(atomicAnd, long long, old& value)
ATOMIC_INTEGERS(atomicOr, old | value)
ATOMIC(atomicOr, long long, old | value)
ATOMIC_INTEGERS(atomicXor, old ^ value)
ATOMIC(atomicXor, long long, old ^ value)
ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#define ATOMIC_CAS_SCOPE(name, type)                                               \
  type name(type* address, type compare, type value) {                             \
    return compare_and_swap(address, compare, value, __builtin_return_address(0)); \
  }
#define ATOMIC_CAS(type)                  \
  ATOMIC_CAS_SCOPE(atomicCAS, type)       \
  ATOMIC_CAS_SCOPE(atomicCAS_block, type) \
  ATOMIC_CAS_SCOPE(atomicCAS_system, type)
ATOMIC_CAS_SCOPE(atomicCAS, unsigned short)
ATOMIC_CAS(int)
ATOMIC_CAS(unsigned int)
ATOMIC_CAS(unsigned long long)

void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void __threadfence_block() {
  __threadfence();
}
void __threadfence_system() {
  __threadfence();
}

unsigned __isGlobal(const void* pointer) {
  return simulator::is_device_address(pointer);
}
unsigned __isShared(const void* pointer) {
  return simulator::kernel_block != nullptr &&
         (simulator::kernel_block->is_shared(reinterpret_cast<uintptr_t>(pointer)) ||
          simulator::kernel_block->owner_in_cluster(reinterpret_cast<uintptr_t>(pointer)));
}

size_t __cvta_generic_to_shared(const void* pointer) {
  constexpr size_t kNowhere = 0xf0000000;  // what is made of it lies in no memory
  const simulator::RunningBlock* const block = simulator::kernel_block;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  return block != nullptr && block->is_shared(address) ? block->offset_in_shared(address)
                                                       : kNowhere;
}
void* __cvta_shared_to_generic(size_t address) {
  const simulator::RunningBlock* const block = simulator::kernel_block;
  return block != nullptr ? reinterpret_cast<void*>(block->address_in_shared(address)) : nullptr;
}

unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
  return reversed;
}

void __trap() {
  std::raise(SIGTRAP);
  std::abort();
}

long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
