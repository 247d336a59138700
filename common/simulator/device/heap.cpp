#include "common/simulator/device/heap.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "common/simulator/device/findings.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/device/stream_order.hpp"
#include "common/simulator/world/pages.hpp"

namespace simulator {
namespace {

constexpr size_t kAlign = 16, kGap = 16;  // between two blocks: a step out of one is seen
constexpr size_t kChunk = size_t{1} << 20;
constexpr unsigned char kPoison = 0xff;

class Heap {
 public:
  void* allocate(size_t bytes, uint32_t launch) {
    const std::lock_guard lock(mutex_);
    if (bytes == 0 || bytes > limit_ - std::min(used_, limit_)) return nullptr;
    // Within a launch no address is used twice: an earlier owner's accesses would look like races.
    // Nor in two that may run at once.
    if (live_.empty() && launch != launch_ && !has_streams()) {
      next_ = begin();
      freed_.clear();
    }
    launch_ = launch;
    const size_t body = (bytes + kAlign - 1) / kAlign * kAlign;
    if (body + kGap > begin() + kHeapSpan - next_ || !make_room(next_ + body + kGap))
      return nullptr;
    void* const block = reinterpret_cast<void*>(next_);
    std::memset(block, kPoison, body);
    mark_unwritten(block, body);
    live_[next_] = bytes;
    used_ += bytes;
    next_ += body + kGap;
    return block;
  }

  bool release(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<uintptr_t>(block));
    if (found == live_.end()) return false;
    used_ -= found->second;
    freed_.insert(*found);
    live_.erase(found);
    return true;
  }

  Allocation live(const void* address) { return find(live_, address); }
  Allocation freed(const void* address) { return find(freed_, address); }
  Allocation nearest(const void* address) {
    const std::lock_guard lock(mutex_);
    if (live_.empty()) return {};
    const auto after = live_.upper_bound(reinterpret_cast<uintptr_t>(address));
    const auto& [first, bytes] = *(after == live_.begin() ? after : std::prev(after));
    return {first, bytes, 0, 0};
  }

  bool set_limit(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > kHeapSpan / 2) return false;
    limit_ = bytes;
    return true;
  }
  size_t limit() {
    const std::lock_guard lock(mutex_);
    return limit_;
  }

 private:
  using Blocks = std::map<uintptr_t, size_t>;

  static uintptr_t begin() { return device_begin() + kDeviceSpan - kHeapSpan; }

  bool make_room(uintptr_t end) {
    while (end_ < end) {
      if (!open_pages(reinterpret_cast<void*>(end_), kChunk)) return false;
      end_ += kChunk;
    }
    return true;
  }

  Allocation find(const Blocks& blocks, const void* address) {
    const std::lock_guard lock(mutex_);
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    const auto after = blocks.upper_bound(at);
    if (after == blocks.begin()) return {};
    const auto& [first, bytes] = *std::prev(after);
    return at - first < bytes ? Allocation{first, bytes, 0, 0} : Allocation{};
  }

  std::mutex mutex_;
  Blocks live_, freed_;
  size_t used_ = 0, limit_ = 8 << 20;  // CUDA's default
  uintptr_t next_ = begin(), end_ = begin();
  uint32_t launch_ = 0;
};

Heap& heap() {
  static Heap& the_heap = *new Heap;  // for ever: others are freed after it would be
  return the_heap;
}

}  // namespace

void* heap_allocate(size_t bytes) {
  return heap().allocate(bytes, launches_made());
}
void heap_free(void* block, const void* instruction) {
  if (block == nullptr || heap().release(block) || the_block == nullptr) return;
  const void* const call = static_cast<const char*>(the_block->with_callers(instruction)) - 1;
  count_finding({"bounds", 0, cudaErrorIllegalAddress, the_block->block_number()}, call, call, [&] {
    return "bounds in " + std::string(the_block->kernel()) + "\n  freed by   " +
           the_block->place_of_running_thread() + "  " + source_line_with_text(call) +
           "\n  free or delete of what is no live memory of the kernels' heap\n"
           "  likely: it was freed before, or the host allocated it\n";
  });
}
Allocation heap_block(const void* address) {
  return heap().live(address);
}
Allocation freed_heap_block(const void* address) {
  return heap().freed(address);
}
Allocation nearest_heap_block(const void* address) {
  return heap().nearest(address);
}
bool set_heap_limit(size_t bytes) {
  return heap().set_limit(bytes);
}
size_t heap_limit() {
  return heap().limit();
}

}  // namespace simulator

// ---- malloc, free, new and delete of the whole program. Called by a kernel they mean the heap.
// (The linker is told --wrap=malloc --wrap=free; the standard library's new[] and delete[] call
// these.)

extern "C" {
void* __real_malloc(size_t bytes);
void __real_free(void* block);
}

namespace {
void release(void* block, const void* instruction) {
  if (simulator::kernel_block == nullptr && !simulator::is_heap_address(block)) {
    __real_free(block);
    return;
  }
  const simulator::SimulatorScope scope;
  simulator::heap_free(block, instruction);
}
}  // namespace

extern "C" {

void* __wrap_malloc(size_t bytes) {
  if (simulator::kernel_block == nullptr) return __real_malloc(bytes);
  const simulator::SimulatorScope scope;
  return simulator::heap_allocate(bytes);
}
void __wrap_free(void* block) {
  release(block, __builtin_return_address(0));
}
}

void* operator new(size_t bytes) {
  for (;;) {
    // In a kernel new gives null when there is no memory, as CUDA's does.
    void* const block = __wrap_malloc(bytes == 0 ? 1 : bytes);
    if (block != nullptr || simulator::kernel_block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* block) noexcept {
  release(block, __builtin_return_address(0));
}
void operator delete(void* block, size_t) noexcept {
  release(block, __builtin_return_address(0));
}
