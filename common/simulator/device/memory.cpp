// Global memory: which allocations there are, and where.
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/environment.hpp"
#include "common/simulator/device/heap.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/world/pages.hpp"

namespace simulator {
namespace {

constexpr size_t kAlignment = 256;  // of every allocation, as CUDA promises
constexpr unsigned char kPoison = 0xff;
constexpr size_t kFreedRemembered = 500;

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
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
      if (!open_pages(reinterpret_cast<void*>(first), pages)) return nullptr;
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
    empty_pages(reinterpret_cast<void*>(found->second.first_page), found->second.page_bytes);
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

  std::vector<Allocation> live() {
    const std::lock_guard lock(mutex_);
    std::vector<Allocation> list;
    for (const auto& [begin, block] : live_)
      if (!block.was_reset) list.push_back(block.elements);
    return list;
  }
  void forget_live() {
    const std::lock_guard lock(mutex_);
    for (auto& [begin, block] : live_) block.was_reset = true;
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
    bool was_reset = false;  // by cudaDeviceReset()
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
  static DeviceMemory& the_memory = *new DeviceMemory;  // a program's last words still look at it
  return the_memory;
}

std::mutex pinned_mutex;
std::map<uintptr_t, size_t> pinned;  // host memory from cudaMallocHost

}  // namespace

size_t device_memory_size() {
  static const size_t half = host_memory_size() / 2;
  return number_from_environment("SIMULATOR_MEMORY").value_or(half);
}

uintptr_t device_begin() {
  static const uintptr_t begin =
      reinterpret_cast<uintptr_t>(map_closed_pages(kDeviceSpan, "global memory"));
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

std::vector<Allocation> live_allocations() {
  return memory().live();
}
void forget_live_allocations() {
  memory().forget_live();
}

void* allocate_device_memory(size_t bytes, uint32_t made_by) {
  return memory().allocate(bytes, made_by);
}
bool release_device_memory(void* pointer) {
  return memory().release(pointer);
}
Allocation whole_allocation(const void* address) {
  return memory().holding(reinterpret_cast<uintptr_t>(address));
}
size_t free_device_memory() {
  return memory().free_bytes();
}

}  // namespace simulator
