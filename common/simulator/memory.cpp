// Global memory: allocation, copies, fills.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "common/simulator/checks.hpp"
#include "common/simulator/device.hpp"
#include "common/simulator/environment.hpp"
#include "common/simulator/heap.hpp"
#include "common/simulator/plan.hpp"
#include "common/simulator/report.hpp"
#include "common/simulator/shadow.hpp"
#include "common/simulator/stream_order.hpp"
#include "common/simulator/symbols.hpp"

namespace simulator {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;  // of every allocation, as CUDA promises
constexpr unsigned char kPoison = 0xff;
constexpr size_t kFreedRemembered = 500;

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// What SIMULATOR_MEMORY in the environment says at the moment; else half of what this process may
/// use: the rest is for the host's side of the program.
size_t device_memory_size() {
  static const size_t half = [] {
    size_t bytes =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    size_t limit = 0;  // a container's, if it has one
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit > 0)
      bytes = std::min(bytes, limit);
    return bytes / 2;
  }();
  return number_from_environment("SIMULATOR_MEMORY").value_or(half);
}

uintptr_t reserve_range() {
  void* range =
      mmap(nullptr, kDeviceSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    std::fputs("The simulator could not reserve addresses for global memory.\n", stderr);
    std::exit(2);
  }
  return reinterpret_cast<uintptr_t>(range);
}

class DeviceMemory {
 public:
  void* allocate(size_t bytes, uint32_t made_by) {
    const std::lock_guard lock(mutex_);
    if (bytes > room()) return nullptr;
    const size_t body = round_up(bytes, kAlignment);
    const size_t pages = round_up(body, kPage);
    const uintptr_t first = find_room(pages + kPage);
    if (first == 0) return nullptr;
    // Flush with the end of its last page: a read past the end meets the page that follows.
    const uintptr_t begin = first + pages - body;
    if (is_planning()) {
      if (planned_from_ == 0) planned_from_ = first;
    } else {
      if (mprotect(reinterpret_cast<void*>(first), pages, PROT_READ | PROT_WRITE) != 0)
        return nullptr;
      std::memset(reinterpret_cast<void*>(begin), kPoison, body);
      mark_unwritten(reinterpret_cast<void*>(begin), body);
    }
    live_[begin] = {bytes, first, pages, {begin, bytes, 0, made_by}};
    used_ += bytes;
    return reinterpret_cast<void*>(begin);
  }

  bool release(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == live_.end()) return false;
    void* pages = reinterpret_cast<void*>(found->second.first_page);
    mmap(pages, found->second.page_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    used_ -= found->second.bytes;
    if (planned_from_ != 0 && found->second.first_page >= planned_from_) {
      live_.erase(found);  // its addresses will be another's
      return true;
    }
    freed_.insert_or_assign(found->first, found->second);
    freed_order_.push_back(found->first);
    if (freed_order_.size() > kFreedRemembered) {
      freed_.erase(freed_order_.front());
      freed_order_.pop_front();
    }
    live_.erase(found);
    return true;
  }

  /// All bytes of the allocation that holds this address.
  Allocation holding(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    const Block* block = find(live_, address);
    return block == nullptr ? Allocation{} : Allocation{block->begin(), block->bytes};
  }

  /// The same, if the address is among its elements.
  Allocation elements(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    const Block* block = find(live_, address);
    if (block == nullptr || address - block->elements.begin >= block->elements.bytes) return {};
    return block->elements;
  }

  Allocation freed(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    const Block* block = find(freed_, address);
    if (block == nullptr) return {};
    const bool is_element = address - block->elements.begin < block->elements.bytes;
    return is_element ? block->elements : Allocation{block->begin(), block->bytes};
  }

  Allocation nearest(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    if (live_.empty()) return {};
    auto after = live_.upper_bound(address);
    if (after == live_.begin()) return after->second.elements;
    const auto before = std::prev(after);
    const uintptr_t end = before->first + before->second.bytes;
    const uintptr_t past = address > end ? address - end : 0;
    if (after != live_.end() && after->first - address < past) return after->second.elements;
    return before->second.elements;
  }

  void set_elements(const Allocation& elements) {
    const std::lock_guard lock(mutex_);
    Block* block = find(live_, elements.begin);
    if (block == nullptr) return;
    const uint32_t made_by = block->elements.made_by;
    block->elements = elements;
    block->elements.made_by = made_by;
  }
  void share_with_host(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    if (Block* block = find(live_, address)) block->host_may_use = true;
  }
  bool host_may_use(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    const Block* block = find(live_, address);
    return block != nullptr && block->host_may_use;
  }

  void forget_planned() {
    const std::lock_guard lock(mutex_);
    if (planned_from_ != 0 && live_.lower_bound(planned_from_) == live_.end())
      next_ = planned_from_;
    planned_from_ = 0;
  }

  size_t free_bytes() {
    const std::lock_guard lock(mutex_);
    return room();
  }

 private:
  size_t room() const {
    const size_t all = is_planning() ? kDeviceSpan : device_memory_size();
    return all > used_ ? all - used_ : 0;
  }

  struct Block {
    size_t bytes;
    uintptr_t first_page;
    size_t page_bytes;
    Allocation elements;
    bool host_may_use = false;
    uintptr_t begin() const { return first_page + page_bytes - round_up(bytes, kAlignment); }
  };
  using Blocks = std::map<uintptr_t, Block>;

  static Block* find(Blocks& blocks, uintptr_t address) {
    auto after = blocks.upper_bound(address);
    if (after == blocks.begin()) return nullptr;
    Block& block = std::prev(after)->second;
    return address - block.begin() < block.bytes ? &block : nullptr;
  }

  /// Addresses are never used again, so that freed memory stays untouchable.
  uintptr_t find_room(size_t bytes) {
    if (next_ == 0) next_ = device_begin() + kPage;
    if (bytes > device_begin() + kDeviceSpan - kHeapSpan - next_) return 0;
    const uintptr_t first = next_;
    next_ += bytes;
    return first;
  }

  std::mutex mutex_;
  Blocks live_, freed_;
  std::deque<uintptr_t> freed_order_;
  size_t used_ = 0;
  uintptr_t next_ = 0;
  uintptr_t planned_from_ = 0;  // where the addresses of the plan begin; 0: there are none
};

DeviceMemory& memory() {
  static DeviceMemory the_memory;
  return the_memory;
}

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) set_last_error(error);
  return error;
}

/// True when [pointer, pointer + bytes) is in one live allocation.
bool in_device_memory(const void* pointer, size_t bytes) {
  const Allocation allocation = memory().holding(reinterpret_cast<uintptr_t>(pointer));
  return allocation.bytes > 0 &&
         bytes <= allocation.begin + allocation.bytes - reinterpret_cast<uintptr_t>(pointer);
}

std::mutex pinned_mutex;
std::map<uintptr_t, size_t> pinned;  // host memory from cudaMallocHost

/// One end of a copy: on the side that `device` says, and big enough?
bool fits(const void* pointer, size_t bytes, bool device) {
  if (device) return in_device_memory(pointer, bytes) || is_symbol(pointer, bytes);
  return pointer != nullptr && !is_device_address(pointer);
}

}  // namespace

uintptr_t device_begin() {
  static const uintptr_t begin = reserve_range();
  return begin;
}

Allocation find_allocation(const void* address) {
  if (is_heap_address(address)) return heap_block(address);
  return memory().elements(reinterpret_cast<uintptr_t>(address));
}
Allocation nearest_allocation(const void* address) {
  if (is_heap_address(address)) return nearest_heap_block(address);
  return memory().nearest(reinterpret_cast<uintptr_t>(address));
}
Allocation freed_allocation(const void* address) {
  if (is_heap_address(address)) return freed_heap_block(address);
  return memory().freed(reinterpret_cast<uintptr_t>(address));
}

void set_elements(const void* elements, size_t bytes, size_t element) {
  memory().set_elements({reinterpret_cast<uintptr_t>(elements), bytes, element});
}
void share_with_host(const void* allocation) {
  memory().share_with_host(reinterpret_cast<uintptr_t>(allocation));
}
bool is_managed(const void* address) {
  return memory().host_may_use(reinterpret_cast<uintptr_t>(address));
}
void pin(void* memory, size_t bytes) {
  const std::lock_guard lock(pinned_mutex);
  pinned[reinterpret_cast<uintptr_t>(memory)] = bytes;
}
bool unpin(const void* memory) {
  const std::lock_guard lock(pinned_mutex);
  return pinned.erase(reinterpret_cast<uintptr_t>(memory)) > 0;
}
bool is_pinned(const void* address) {
  const std::lock_guard lock(pinned_mutex);
  const auto after = pinned.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (after == pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return reinterpret_cast<uintptr_t>(address) - begin < bytes;
}

void forget_planned_memory() {
  memory().forget_planned();
}

void host_access(const void* address, const void* instruction) {
  if (!checks_are_on() || memory().host_may_use(reinterpret_cast<uintptr_t>(address))) return;
  set_kernel_fault(cudaErrorIllegalAddress);
  // A program that asks for no error must fail, too.
  static const int at_exit = std::atexit([] {
    if (cudaDeviceSynchronize() == cudaSuccess) return;
    std::fflush(nullptr);
    _exit(1);
  });
  static_cast<void>(at_exit);
  static std::mutex mutex;
  static std::set<const void*> told;
  const std::lock_guard lock(mutex);
  if (!told.insert(instruction).second) return;
  publish("bounds in host code  " +
              source_line_with_text(static_cast<const char*>(instruction) - 1) +
              "\n  global memory in host code; with a GPU the program would crash here\n"
              "  likely: a cudaMemcpy to the host is missing\n",
          cudaErrorIllegalAddress);
}

}  // namespace simulator

using namespace simulator;

namespace {

cudaError_t allocate(void** pointer, size_t bytes, uint32_t made_by) {
  if (pointer == nullptr) return done(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = memory().allocate(bytes, made_by);
  return done(*pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, 0);
}
cudaError_t cudaFree(void* pointer) {
  host_waits_for_all();
  if (pointer == nullptr || memory().release(pointer)) return cudaSuccess;
  return done(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate(pointer, bytes, begin_operation("cudaMallocAsync", stream).number);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  const Allocation all = memory().holding(reinterpret_cast<uintptr_t>(pointer));
  host_operation_writes(begin_operation("cudaFreeAsync", stream), pointer, all.bytes);
  return done(memory().release(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}
// Of one device; nothing is kept in it.
struct CUmemPoolHandle_st {};
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  static CUmemPoolHandle_st of_device;
  if (pool == nullptr) return done(cudaErrorInvalidValue);
  if (device != 0) return done(cudaErrorInvalidDevice);
  *pool = &of_device;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const bool is_known = attribute == cudaMemPoolAttrReleaseThreshold;
  return done(pool != nullptr && value != nullptr && is_known ? cudaSuccess
                                                              : cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  if (pointer == nullptr) return done(cudaErrorInvalidValue);
  *pointer = std::malloc(bytes);
  if (*pointer != nullptr) pin(*pointer, bytes);
  return done(*pointer != nullptr || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
  unpin(pointer);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return done(cudaErrorInvalidValue);
  *free = memory().free_bytes();
  *total = device_memory_size();
  return cudaSuccess;
}

namespace {

cudaError_t copy(const char* what, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  const cudaError_t fault = take_kernel_fault();
  if (fault != cudaSuccess) return fault;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return done(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  const bool by_address = kind == cudaMemcpyDefault;
  const bool to_device = by_address
                             ? is_device_address(to)
                             : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = by_address
                               ? is_device_address(from)
                               : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!fits(to, bytes, to_device) || !fits(from, bytes, from_device))
    return done(cudaErrorInvalidValue);
  if (is_planning()) {
    if (!is_device_address(to)) std::memset(to, 0, bytes);
    return cudaSuccess;
  }
  const Operation now = begin_operation(what, stream);
  if (is_device_address(from)) host_operation_reads(now, from, bytes);  // and no symbol
  if (is_device_address(to)) host_operation_writes(now, to, bytes);
  std::memmove(to, from, bytes);
  if (is_device_address(to)) mark_written(to, bytes);
  return take_kernel_fault();
}

cudaError_t fill(const char* what, void* to, int value, size_t bytes, cudaStream_t stream) {
  const cudaError_t fault = take_kernel_fault();
  if (fault != cudaSuccess) return fault;
  if (bytes == 0) return cudaSuccess;
  if (!fits(to, bytes, true)) return done(cudaErrorInvalidValue);
  if (is_planning()) return cudaSuccess;
  const Operation now = begin_operation(what, stream);
  if (is_device_address(to)) host_operation_writes(now, to, bytes);
  std::memset(to, value, bytes);
  if (is_device_address(to)) mark_written(to, bytes);
  return take_kernel_fault();
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = copy("cudaMemcpy", to, from, bytes, kind, nullptr);
  host_waits(cudaStream_t{});
  return error;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy("cudaMemcpyAsync", to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  const cudaError_t error =
      cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
  host_waits(cudaStream_t{});
  return error;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return done(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        copy("cudaMemcpy2D", static_cast<char*>(to) + row * to_pitch,
             static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return fill("cudaMemset", to, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill("cudaMemsetAsync", to, value, bytes, stream);
}

cudaError_t simulator_copy_symbol(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) return done(cudaErrorInvalidValue);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
