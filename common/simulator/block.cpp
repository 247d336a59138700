#include "common/simulator/block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <sstream>

#include "common/simulator/hopper.hpp"
#include "common/simulator/names.hpp"
#include "common/simulator/report.hpp"
#include "common/simulator/symbols.hpp"
#include "common/simulator/waiting.hpp"
#include "cooperative_groups.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace simulator {
namespace {

constexpr size_t kSignalStack = 64 * 1024;
// A stack grows by touching the memory just below where it has come to (-fstack-clash-protection).
constexpr uintptr_t kNear = 2 * 4096;
constexpr unsigned char kPoison =
    0xff;  // NaN as float, -1 as int: as in common/data/device_buffer.hpp

unsigned char* map_pages(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* pages =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    std::fputs("The simulator found too little memory for its threads' stacks.\n", stderr);
    std::exit(2);
  }
  return static_cast<unsigned char*>(pages);
}

/// Gives Boost a stack that outlives the fiber.
struct KeptStack {
  void deallocate(boost::context::stack_context&) noexcept {}
};

const char* name_of(BarrierKind kind) {
  switch (kind) {
    case BarrierKind::count:
      return "__syncthreads_count()";
    case BarrierKind::all:
      return "__syncthreads_and()";
    case BarrierKind::any:
      return "__syncthreads_or()";
    default:
      return "__syncthreads()";
  }
}

const char* name_of(WarpKind kind) {
  switch (kind) {
    case WarpKind::sync:
      return "__syncwarp()";
    case WarpKind::shuffle:
      return "a shuffle";
    case WarpKind::ballot:
    case WarpKind::all:
    case WarpKind::any:
      return "a vote";
    case WarpKind::match:
      return "__match_any_sync()";
    case WarpKind::converge:
      return "coalesced_threads()";
    case WarpKind::matrix:
      return "an operation on matrices";
    default:
      return "a warp reduction";
  }
}

/// The kernel's local variables will lie where this function's lie.
__attribute__((noinline)) void poison_stack() {
  uint32_t words[1024];
  std::fill(std::begin(words), std::end(words), kUnwritten);
  asm volatile("" : : "r"(words) : "memory");
}

}  // namespace

constinit bool has_matrix_operations = false;
constinit thread_local std::atomic<bool> heed = false;
constinit thread_local Worker* the_worker = nullptr;
constinit thread_local Worker* kernel_worker = nullptr;

Worker::Worker(Worker* leader)
    : hopper(std::make_unique<Hopper>(*this)),
      own_progress_(leader ? nullptr : std::make_unique<Progress>(heed)),
      progress(leader ? leader->progress : *own_progress_),
      stacks_(map_pages(kMaxThreads * kStack, PROT_NONE)),
      signal_stack_(leader ? nullptr : map_pages(kSignalStack)),
      dynamic_shared_(map_pages(kPage + kSharedPerBlockOptin) + kPage),
      leader_(leader) {
  mprotect(static_cast<unsigned char*>(dynamic_shared_) - kPage, kPage, PROT_NONE);
  dynamic_begin_ = reinterpret_cast<uintptr_t>(dynamic_shared_);
  static_begin_ = reinterpret_cast<uintptr_t>(thread_local_base()) + shared_begin();
  static_bytes_ = shared_owners().size();
  thread_begin_ = reinterpret_cast<uintptr_t>(thread_local_base());
  thread_bytes_ = thread_local_bytes();
  if (leader) return;
  stack_t signal_stack{};
  signal_stack.ss_sp = signal_stack_;
  signal_stack.ss_size = kSignalStack;
  sigaltstack(&signal_stack, nullptr);
}

Worker::~Worker() {
  abandon_fibers();
  if (!leader_) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(signal_stack_, kSignalStack);
  }
  if (image_) munmap(image_, kPage + static_bytes_);
  munmap(stacks_, kMaxThreads * kStack);
  munmap(static_cast<unsigned char*>(dynamic_shared_) - kPage, kPage + kSharedPerBlockOptin);
}

/// Gives up the stacks of the threads that wait, without unwinding them: device code has no
/// exceptions, and a destructor or a noexcept function could not be left by one. What they own is
/// lost.
void Worker::abandon_fibers() {
  idle_.clear();
  for (auto& fiber : fibers_)
    static_cast<void>(new boost::context::fiber(std::move(fiber->context)));
  fibers_.clear();
}

// ---- Running a block

void Worker::poison_static_shared(unsigned char* begin) {
  for (const SharedArray& array : shared_arrays())
    std::memset(begin + (array.offset - shared_begin()), kPoison, array.bytes);
}

void Worker::begin_block(const Grid& grid, uint3 block) {
  grid_ = &grid;
  block_ = block;
  cluster_ = nullptr;
  rank_ = 0;
  make_current();
  const dim3& size = grid.launch.block;
  capability_ = architecture().capability;
  threads_.assign(static_cast<size_t>(size.x) * size.y * size.z, Thread{});
  next_ = finished_ = waiting_ = waiting_lanes_ = at_cluster_barrier_ = 0;
  order_.clear();
  late_.clear();
  late_warp_ = kNoWarp;
  if (grid.order != 0) {
    shuffle_ = Shuffle(grid.order + block_number());
    order_.resize(threads_.size());
    std::iota(order_.begin(), order_.end(), 0);
    shuffle_.shuffle(order_);
    if (threads_.size() > 32) late_warp_ = static_cast<int>(shuffle_.below(threads_.size() / 32));
  }
  declared_.clear();
  dynamic_name_ = nullptr;
  ready_.clear();
  ready_next_ = 0;
  lanes_at_cluster_barrier_.clear();
  fault_error_ = cudaSuccess;
  dynamic_bytes_ = grid.launch.dynamic_shared;
  std::memset(dynamic_shared_, kPoison, dynamic_bytes_);
  if (checks_are_on() && own_checks_ == nullptr) own_checks_ = std::make_unique<Checks>(*this);
  checks = checks_are_on() ? own_checks_.get() : nullptr;
  if (checks)
    checks->begin_block(*grid.operation, block_number(), static_cast<int>(threads_.size()));
  async_copies.begin_block();
  if (hopper->used) hopper->begin_block();
  hopper->used = false;
  trace = profiling() || grid.recorder ? &own_trace_ : nullptr;
  if (trace) trace->begin_block(static_cast<int>(threads_.size()), grid.recorder);
  if (grid.recorder) grid.recorder->begin_block(block_number());
}

void Worker::run_block(const Grid& grid, uint3 block) {
  begin_block(grid, block);
  poison_static_shared();
  try {
    if (!run()) report_stuck();
  } catch (...) {
    abandon_fibers();
    progress.rest();
    the_worker = nullptr;
    throw;
  }
  progress.rest();
  the_worker = nullptr;
}

void Worker::make_current() {
  blockIdx = block_;
  blockDim = grid_->launch.block;
  gridDim = grid_->launch.grid;
}

/// Lets the block's threads run. False if some are left and none can go on.
bool Worker::run() {
  heed = trace != nullptr || progress.must_stop();
  the_worker = this;
  if (sigsetjmp(crash_return_, 1) == 0) return schedule();
  throw_crash();
  return false;
}

/// New threads first, in order; then those that a barrier let go; the late warp's only when nobody
/// else can go on. A fiber whose thread has finished takes the next one itself, so that kernels
/// without barriers never switch.
bool Worker::schedule() {
  const int count = static_cast<int>(threads_.size());
  while (finished_ < count) {
    if (next_ < count) {
      resume(idle_fiber());
    } else if (ready_next_ < ready_.size()) {
      const int thread = next_ready();
      if (thread / 32 == late_warp_)
        late_.push_back(thread);
      else
        go_on(thread);
    } else if (hopper->go_on()) {
      continue;
    } else if (!late_.empty()) {
      std::swap(late_[shuffle_.below(late_.size())], late_.back());
      const int thread = late_.back();
      late_.pop_back();
      go_on(thread);
    } else if (!converge()) {
      return false;
    }
    if (fault_error_ != cudaSuccess) throw Fault(fault_error_, fault_);
  }
  if (hopper->used) hopper->end_block();
  return true;
}

int Worker::next_thread() {
  const int next = next_++;
  return order_.empty() ? next : order_[static_cast<size_t>(next)];
}

int Worker::next_ready() {
  if (!order_.empty())
    std::swap(ready_[ready_next_],
              ready_[ready_next_ + shuffle_.below(ready_.size() - ready_next_)]);
  const int thread = ready_[ready_next_++];
  if (ready_next_ == ready_.size()) {
    ready_.clear();
    ready_next_ = 0;
  }
  return thread;
}

Worker::Fiber& Worker::idle_fiber() {
  if (!idle_.empty()) {
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
  }
  const size_t index = fibers_.size();
  fibers_.push_back(std::make_unique<Fiber>());
  Fiber& fiber = *fibers_.back();
  boost::context::stack_context stack;
  stack.size = kStack - kPage;
  stack.sp = stacks_ + (index + 1) * kStack;
  fiber.stack = reinterpret_cast<uintptr_t>(stacks_ + index * kStack);
  // The lowest page stays a guard.
  if (mprotect(stacks_ + index * kStack + kPage, stack.size, PROT_READ | PROT_WRITE) != 0) {
    std::fputs("The simulator found too little memory for its threads' stacks.\n", stderr);
    std::exit(2);
  }
  fiber.context = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack), KeptStack{},
      [this, &fiber](boost::context::fiber&& scheduler) {
        scheduler_ = std::move(scheduler);
        fiber_main(fiber);
        return std::move(scheduler_);
      });
  return fiber;
}

void Worker::go_on(int thread) {
  select(thread);
  resume(*threads_[thread].fiber);
}

void Worker::resume(Fiber& fiber) {
  fiber.context = std::move(fiber.context).resume();
}

/// Back to schedule(); returns when the fiber is resumed.
void Worker::suspend() {
  scheduler_ = std::move(scheduler_).resume();
}

void Worker::fiber_main(Fiber& fiber) {
  for (;;) {
    while (next_ < static_cast<int>(threads_.size()) && fault_error_ == cudaSuccess) {
      const int thread = next_thread();
      threads_[thread].fiber = &fiber;
      select(thread);
      if (has_matrix_operations) poison_stack();
      try {
        kernel_worker = this;
        grid_->call(grid_->context);
        kernel_worker = nullptr;
        on_thread_finished(current_);
      } catch (const Fault& fault) {
        kernel_worker = nullptr;
        fault_ = fault.what();
        fault_error_ = fault.error;
      } catch (const std::exception& exception) {
        kernel_worker = nullptr;
        fault_ = "exception in " + where_am_i(current_) + "\n  " + exception.what() +
                 "\n  device code cannot throw: a GPU would stop the kernel\n";
        fault_error_ = cudaErrorLaunchFailure;
      } catch (...) {
        kernel_worker = nullptr;
        fault_ = "exception in " + where_am_i(current_) +
                 "\n  device code cannot throw: a GPU would stop the kernel\n";
        fault_error_ = cudaErrorLaunchFailure;
      }
    }
    idle_.push_back(&fiber);
    suspend();
  }
}

void Worker::select(int thread) {
  current_ = thread;
  progress.turn();
  local_begin_ = threads_[thread].fiber->stack;
  const unsigned index = static_cast<unsigned>(thread);
  threadIdx = {index % blockDim.x, index / blockDim.x % blockDim.y,
               index / (blockDim.x * blockDim.y)};
}

void Worker::wait_for(const Waiting& what) {
  settle();
  Thread& self = threads_[current_];
  self.state = State::waiting;
  self.waits_for = &what;
  suspend();
}

void Worker::wake(int thread) {
  threads_[thread].state = State::ready;
  ready_.push_back(thread);
}

void Worker::on_thread_finished(int thread) {
  if (hopper->used) hopper->thread_left(thread);
  threads_[thread].state = State::finished;
  ++finished_;
  if (checks) checks->thread_left(thread);
  if (trace) trace->settle();
  // The lanes that wait for each other no longer wait for this one.
  const int warp = thread / 32 * 32;
  const int end = std::min(warp + 32, static_cast<int>(threads_.size()));
  for (int t = warp; waiting_lanes_ > 0 && t < end; ++t)
    if (threads_[t].state == State::at_warp_operation) try_finish_warp(t);
  if (trace && living_lanes(warp) == 0) trace->warp_finished(warp / 32);
  // Nor do those at a barrier, which waits for the threads that are still there.
  if (waiting_ > 0 && waiting_ + finished_ == static_cast<int>(threads_.size())) finish_barrier();
  if (cluster_) cluster_->leave(threads_[thread].arrivals > cluster_->phase());
  if (cluster_ && checks && has_left()) checks->block_left();
}

/// Those of a warp that have not finished: a bit a lane. `first` is the warp's first thread.
unsigned Worker::living_lanes(int first) const {
  unsigned living = 0;
  for (int t = first; t < std::min(first + 32, static_cast<int>(threads_.size())); ++t)
    if (threads_[t].state != State::finished) living |= 1u << (t - first);
  return living;
}

// ---- Barriers of the block

int Worker::barrier(BarrierKind kind, int predicate, Where where) {
  Thread& self = threads_[current_];
  self.state = State::at_barrier;
  self.where = where;
  self.barrier_kind = kind;
  self.predicate = predicate;
  const int me = current_;
  settle();
  if (++waiting_ + finished_ == static_cast<int>(threads_.size())) {
    finish_barrier();
  } else {
    suspend();
  }
  return threads_[me].predicate;
}

void Worker::finish_barrier() {
  const auto at_barrier = [](const Thread& thread) { return thread.state == State::at_barrier; };
  const Thread& first = *std::find_if(threads_.begin(), threads_.end(), at_barrier);
  int trues = 0;
  for (const Thread& thread : threads_) {
    if (!at_barrier(thread)) continue;  // it has left the kernel
    if (thread.barrier_kind != first.barrier_kind || thread.where.line() != first.where.line() ||
        std::strcmp(thread.where.file_name(), first.where.file_name()) != 0)
      report_stuck();
    trues += thread.predicate != 0;
  }
  int result = 0;
  if (first.barrier_kind == BarrierKind::count) result = trues;
  if (first.barrier_kind == BarrierKind::all) result = trues == waiting_;
  if (first.barrier_kind == BarrierKind::any) result = trues > 0;
  if (finished_ > 0 && checks)
    checks->barrier_without(finished_, name_of(first.barrier_kind), place_of(first.where));
  for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
    if (threads_[t].state == State::finished) continue;
    threads_[t].predicate = result;
    threads_[t].state = State::ready;
    if (t != current_) ready_.push_back(t);
  }
  waiting_ = 0;
  if (checks) checks->barrier_passed(first.where);
  if (trace) trace->barrier_passed(first.where);
}

// ---- Operations of a warp

unsigned Worker::active_lanes() const {
  // A scheduler that runs one lane at a time: only the caller is certain to be here.
  return 1u << lane();
}

uint64_t Worker::warp(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                      Where where) {
  if (!(mask >> lane() & 1)) {
    std::ostringstream text;
    text << "barrier in " << where_am_i(current_) << "\n  " << name_of(kind) << " at "
         << line_with_text(place_of(where)) << "\n  has the mask 0x" << std::hex << mask
         << ", which does not name the calling lane\n"
         << "  likely: the mask was not made for this branch; it names each lane that calls\n";
    throw Fault(cudaErrorLaunchFailure, text.str());
  }
  const int me = current_;
  settle();
  Thread& self = threads_[me];
  self.state = State::at_warp_operation;
  ++waiting_lanes_;
  self.where = where;
  self.warp_kind = kind;
  self.mask = mask;
  self.value = value;
  self.source = source;
  self.is_signed = is_signed;
  if (!try_finish_warp(me)) suspend();
  return threads_[me].value;
}

void Worker::matrix(const MatrixOperation& operation, void* part, const void* instruction) {
  threads_[current_].operation = &operation;
  threads_[current_].instruction = instruction;
  warp(WarpKind::matrix, 0xffffffff, reinterpret_cast<uint64_t>(part), 0, false, Where());
}

void Worker::run_matrix(int warp, unsigned lanes) {
  const int first = warp + std::countr_zero(lanes);
  const Thread& asked = threads_[first];
  const MatrixOperation& operation = *asked.operation;
  const auto version = [](int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  };
  if (operation.needs > capability_)
    throw Fault(cudaErrorLaunchFailure,
                "trap in " + where_am_i(first) + "  " + line_with_text(place_of_operation(asked)) +
                    "\n  " + operation.name + " needs compute capability " +
                    version(operation.needs) + ", and this device has " + version(capability_) +
                    "\n  likely: the launcher does not refuse the device\n");
  if (lanes != 0xffffffff && checks)
    checks->lanes_absent(operation.name, warp, lanes, place_of_operation(asked));
  MatrixParts parts{};
  for (size_t l = 0; l < 32; ++l)
    if (lanes >> l & 1)
      parts[l] = reinterpret_cast<void*>(threads_[static_cast<size_t>(warp) + l].value);
  const int me = current_;
  operation.run(*this, parts);
  current_ = me;
}

void Worker::settle() {
  if (checks) checks->settle();
  if (trace) trace->settle();
}

/// Has `other` come to the operation that `asked` waits at?
bool Worker::is_at_same(const Thread& other, const Thread& asked) const {
  if (other.state != State::at_warp_operation || other.mask != asked.mask ||
      other.warp_kind != asked.warp_kind)
    return false;
  if (asked.warp_kind != WarpKind::matrix || other.instruction == asked.instruction) return true;
  // The compiler may have made two instructions of one line.
  const SourcePlace a = place_of_operation(other), b = place_of_operation(asked);
  return other.operation == asked.operation && a.line == b.line && a.path == b.path;
}

/// If every living lane that `thread`'s mask names has come to the same operation: does it.
bool Worker::try_finish_warp(int thread) {
  const Thread& asked = threads_[thread];
  if (asked.warp_kind == WarpKind::converge) return false;
  const int warp = thread / 32 * 32;
  const int lanes = std::min(32, static_cast<int>(threads_.size()) - warp);
  unsigned here = 0;
  for (int l = lanes - 1; l >= 0; --l) {  // the last lanes are those that come last
    const Thread& other = threads_[warp + l];
    if (!(asked.mask >> l & 1) || other.state == State::finished) continue;
    if (!is_at_same(other, asked)) return false;
    here |= 1u << l;
  }
  const WarpKind kind = asked.warp_kind;
  uint64_t values[32] = {};
  for (int l = 0; l < lanes; ++l) values[l] = threads_[warp + l].value;

  uint64_t combined = 0;
  bool first = true;
  const bool is_signed = asked.is_signed;
  for (int l = 0; l < 32; ++l) {
    if (!(here >> l & 1)) continue;
    const uint64_t v = values[l];
    const auto less = [&](uint64_t a, uint64_t b) {
      return is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
    };
    switch (kind) {
      case WarpKind::ballot:
      case WarpKind::all:
      case WarpKind::any:
        combined |= v << l;
        break;
      case WarpKind::add:
        combined = static_cast<uint32_t>(combined + v);
        break;
      case WarpKind::min:
        combined = first || less(v, combined) ? v : combined;
        break;
      case WarpKind::max:
        combined = first || less(combined, v) ? v : combined;
        break;
      case WarpKind::bit_and:
        combined = first ? v : combined & v;
        break;
      case WarpKind::bit_or:
        combined |= v;
        break;
      case WarpKind::bit_xor:
        combined ^= v;
        break;
      default:
        break;
    }
    first = false;
  }
  if (kind == WarpKind::matrix) run_matrix(warp, here);
  if (kind == WarpKind::all) combined = combined == here;
  if (kind == WarpKind::any) combined = combined != 0;

  for (int l = 0; l < 32; ++l) {
    if (!(here >> l & 1)) continue;
    Thread& lane = threads_[warp + l];
    if (kind == WarpKind::shuffle) {
      // The value of a lane that does not take part is undefined.
      const bool is_here = here >> lane.source & 1;
      lane.value = is_here ? values[lane.source] : ~uint64_t{0};
      if (!is_here && checks)
        checks->value_of_absent_lane(warp + l, lane.source, why_absent(warp + l, lane.source),
                                     lane.where);
    } else if (kind == WarpKind::match) {
      uint64_t same = 0;
      for (int o = 0; o < 32; ++o)
        if ((here >> o & 1) && values[o] == values[l]) same |= uint64_t{1} << o;
      lane.value = same;
    } else {
      lane.value = combined;
    }
    lane.state = State::ready;
    --waiting_lanes_;
    if (warp + l != current_) ready_.push_back(warp + l);
  }
  // When a finishing thread completes the operation it is current_, but it is not among these
  // lanes.
  const unsigned living = living_lanes(warp);
  if (checks && kind != WarpKind::matrix) checks->warp_passed(warp / 32, here, living);
  if (trace) tell_warp_operation(warp, asked, here, living);
  return true;
}

void Worker::tell_warp_operation(int warp, const Thread& asked, unsigned lanes, unsigned living) {
  WarpOperation operation{
      .kind = asked.warp_kind, .place = place_of_operation(asked), .lanes = lanes};
  for (size_t l = 0; l < 32 && trace->is_recording(); ++l)
    if (lanes >> l & 1) operation.source[l] = threads_[static_cast<size_t>(warp) + l].source;
  trace->warp_passed(warp / 32, operation, lanes == living);
}

/// Nobody can go on but those at coalesced_threads(): the lanes of a warp at one place go on
/// together. False if there are none.
bool Worker::converge() {
  const auto is_at = [&](int thread) {
    return threads_[thread].state == State::at_warp_operation &&
           threads_[thread].warp_kind == WarpKind::converge;
  };
  const int count = static_cast<int>(threads_.size());
  bool found = false;
  for (int t = 0; t < count; ++t) {
    if (!is_at(t)) continue;
    const Where where = threads_[t].where;
    const int warp = t / 32 * 32;
    uint64_t lanes = 0;
    for (int other = t; other < std::min(warp + 32, count); ++other)
      if (is_at(other) && threads_[other].where.line() == where.line() &&
          threads_[other].where.column() == where.column() &&
          std::strcmp(threads_[other].where.file_name(), where.file_name()) == 0)
        lanes |= uint64_t{1} << (other - warp);
    for (int l = 0; l < 32; ++l) {
      if (!(lanes >> l & 1)) continue;
      threads_[warp + l].value = lanes;
      threads_[warp + l].state = State::ready;
      ready_.push_back(warp + l);
      --waiting_lanes_;
    }
    found = true;
  }
  return found;
}

// ---- Reports

std::string Worker::where_am_i(int thread) const {
  const dim3& size = grid_->launch.block;
  const unsigned index = static_cast<unsigned>(thread);
  const uint3 in_block = {index % size.x, index / size.x % size.y, index / (size.x * size.y)};
  return std::string(grid_->launch.kernel) + ", " + block_text() + " thread " + triple(in_block);
}

uint32_t Worker::block_number() const {
  const dim3& grid = grid_->launch.grid;
  return block_.x + grid.x * (block_.y + grid.y * block_.z);
}
std::string Worker::block_text() const {
  return "block " + triple(block_);
}

std::string Worker::place(uint32_t thread, uint32_t block) const {
  return place_in_grid(grid_->launch.grid, grid_->launch.block, block, thread);
}

std::string Worker::place_of_running_thread() const {
  return "block " + triple(blockIdx) + " thread " + triple(threadIdx);
}

/// Of what a waiting thread waits at.
SourcePlace Worker::place_of_operation(const Thread& thread) const {
  const bool by_instruction =
      thread.state == State::at_cluster_barrier ||
      (thread.state != State::at_barrier && thread.warp_kind == WarpKind::matrix);
  if (!by_instruction) return place_of(thread.where);
  return source_place(static_cast<const char*>(thread.instruction) - 1);
}

/// "left the kernel", "wait at a shuffle  file.cu:33   text for the lanes 0xff".
std::string Worker::place_of_thread(const Thread& thread) const {
  if (thread.state == State::finished) return "left the kernel";
  if (thread.state == State::at_cluster_barrier)
    return "wait at the barrier of the cluster  " + line_with_text(place_of_operation(thread));
  if (thread.state == State::waiting)
    return "wait at " + thread.waits_for->what() + "  " +
           source_line_with_text(static_cast<const char*>(thread.waits_for->instruction) - 1);
  const bool at_barrier = thread.state == State::at_barrier;
  std::ostringstream text;
  text << "wait at "
       << (at_barrier                             ? name_of(thread.barrier_kind)
           : thread.warp_kind == WarpKind::matrix ? thread.operation->name
                                                  : name_of(thread.warp_kind))
       << "  " << line_with_text(place_of_operation(thread));
  if (!at_barrier && thread.warp_kind != WarpKind::matrix)
    text << "  for the lanes 0x" << std::hex << thread.mask;
  return text.str();
}

/// The lanes that the mask of a waiting thread names and that wait elsewhere: a line for each
/// place.
std::string Worker::missing_lanes(int waiting) const {
  const Thread& self = threads_[waiting];
  const int warp = waiting / 32 * 32;
  std::map<std::string, std::string> lanes;  // by place
  for (int l = 0; l < 32 && warp + l < static_cast<int>(threads_.size()); ++l) {
    const Thread& other = threads_[warp + l];
    if (!(self.mask >> l & 1) || other.state == State::finished || is_at_same(other, self))
      continue;
    std::string& list = lanes[place_of_thread(other)];
    list += (list.empty() ? "" : ", ") + std::to_string(l);
  }
  std::string text;
  for (const auto& [place, list] : lanes)
    text += "  missing of warp " + std::to_string(waiting / 32) + ": lanes " + list + ", which " +
            place + "\n";
  return text;
}

std::string Worker::why_absent(int thread, int lane) const {
  const int other = thread / 32 * 32 + lane;
  if (other >= static_cast<int>(threads_.size())) return "the block has no such thread";
  if (threads_[other].state == State::finished) return "it has left the kernel";
  return "the mask does not name it";
}

/// "  224 threads wait at …  first: thread (2,0)", a line for each place.
std::string Worker::groups_of_threads() const {
  struct Group {
    int count = 0, first = 0;
  };
  std::map<std::string, Group> groups;
  for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
    Group& group = groups[place_of_thread(threads_[t])];
    if (group.count++ == 0) group.first = t;
  }
  std::string text, missing;
  for (const auto& [place, group] : groups) {
    const dim3& size = grid_->launch.block;
    const unsigned f = static_cast<unsigned>(group.first);
    text += "  " + std::to_string(group.count) + (group.count == 1 ? " thread" : " threads") +
            (is_alone() ? "" : " of " + block_text()) + " " + place + "  first: thread " +
            triple({f % size.x, f / size.x % size.y, f / (size.x * size.y)}) + "\n";
    if (threads_[group.first].state == State::at_warp_operation)
      missing += missing_lanes(group.first);
  }
  return text + missing;
}

/// Nobody can go on: says where the threads are.
void Worker::report_stuck() {
  const auto any = [&](auto is) { return std::any_of(threads_.begin(), threads_.end(), is); };
  const bool lanes_missing =
      any([](const Thread& thread) { return thread.state == State::at_warp_operation; });
  const bool matrix = any([](const Thread& thread) {
    return thread.state == State::at_warp_operation && thread.warp_kind == WarpKind::matrix;
  });
  std::string text =
      "barrier in " + std::string(grid_->launch.kernel) + ", " +
      (is_alone() ? block_text() : "the cluster of " + cluster_->blocks()[0]->block_text()) +
      ": its threads wait for each other\n";
  bool at_cluster_barrier = false;
  const Waiting* waiting = nullptr;
  const std::vector<Worker*> alone = {this};
  for (const Worker* block : is_alone() ? alone : cluster_->blocks()) {
    text += block->groups_of_threads();
    for (const Thread& thread : block->threads_) {
      at_cluster_barrier |= thread.state == State::at_cluster_barrier;
      if (thread.state == State::waiting &&
          (waiting == nullptr || thread.waits_for->weight() > waiting->weight()))
        waiting = thread.waits_for;
    }
  }
  if (waiting)
    text += waiting->likely();
  else if (matrix)
    text +=
        "  likely: it stands in a branch or a loop that not all lanes of the warp take; all 32 "
        "must come to the same one\n";
  else if (lanes_missing)
    text +=
        "  likely: a shuffle, vote or __syncwarp() stands in a branch that not all lanes of its "
        "mask take\n";
  else if (at_cluster_barrier)
    text +=
        "  likely: a barrier of the cluster stands in a branch that not all its threads take; all "
        "threads of all its blocks must arrive at it\n";
  else
    text +=
        "  likely: a branch that differs between threads has a __syncthreads() in it; the threads "
        "of a block must meet at the same one\n";
  throw Fault(cudaErrorLaunchFailure, text);
}

// ---- Crashes

void Worker::crash(int signal, const void* address, const void* instruction, uintptr_t stack) {
  crash_signal_ = signal;
  crash_stack_ = stack;
  crash_address_ = address;
  crash_instruction_ = instruction;
  siglongjmp(crash_return_, 1);
}

void Worker::crash_at_index(const char* array, int64_t index, const void* instruction) {
  crash_array_ = array;
  crash_index_ = index;
  crash(kIndex, nullptr, instruction);
}

void Worker::throw_crash() {
  kernel_worker = nullptr;
  // The crashed thread held the way back to the scheduler, which nothing will use: destroying it
  // would run the scheduler's stack a second time.
  static_cast<void>(new boost::context::fiber(std::move(scheduler_)));
  const SourcePlace line = source_place(crash_instruction_);
  std::string text =
      where_am_i(current_) + (line.line > 0 ? "  " + line_with_text(line) : "") + "\n";
  cudaError_t error = cudaErrorIllegalAddress;
  const uintptr_t address = reinterpret_cast<uintptr_t>(crash_address_);
  if (crash_signal_ == kStopped) {
    text = "endless in " + text + progress.why();
    error = cudaErrorLaunchFailure;
  } else if (crash_signal_ == kExit) {
    text = "exit in " + text +
           "  device code cannot end the program, and nvcc refuses the call\n"
           "  likely: a return, or __trap() to stop the kernel with an error\n";
    error = cudaErrorLaunchFailure;
  } else if (crash_signal_ == kPastLocal) {
    text = "bounds in " + text +
           "  past the end of a local variable or array\n  likely: a loop or an index goes beyond "
           "its size\n";
  } else if (crash_signal_ == kIndex) {
    text = "bounds in " + text + "  index " + std::to_string(crash_index_) +
           " is outside an array " + crash_array_ +
           "\n  likely: a loop or a guard goes beyond the array's size\n";
  } else if (crash_signal_ == SIGFPE) {
    text = "arithmetic in " + text + "  an integer was divided by zero\n";
    error = cudaErrorLaunchFailure;
  } else if (crash_signal_ == SIGABRT) {
    text = "assert in " + text;
    error = cudaErrorAssert;
  } else if (crash_signal_ == SIGILL || crash_signal_ == SIGTRAP) {
    text = "trap in " + text;
    error = cudaErrorLaunchFailure;
  } else if (is_stack(address) && address - crash_stack_ + kNear < 2 * kNear) {
    text = "stack in " + text + "  the thread's local variables need more than " +
           std::to_string((kStack - kPage) / 1024) + " KB, or it calls itself without end\n";
    error = cudaErrorLaunchFailure;
  } else if (is_stack(address)) {
    text = "bounds in " + text +
           "  far outside the thread's local variables and arrays\n"
           "  likely: an index of a local array is wrong or was never set\n";
  } else if (crash_signal_ == SIGBUS) {
    text = "bounds in " + text +
           "  the access is wider than its address is aligned: a float4 must " +
           "lie at a multiple of 16 bytes, a float2 of 8\n"
           "  likely: a row's length or an offset is no multiple of 4 floats\n";
    error = cudaErrorMisalignedAddress;
  } else if (address == 0) {
    text = "bounds in " + text + "  a null pointer\n  likely: nothing was allocated for it\n";
  } else if (checks && checks->has_reported(address)) {
    text.clear();  // the report of the access is enough
  } else {
    text = "bounds in " + text + describe_address(crash_address_);
  }
  throw Fault(error, text);
}

// ---- __shared__ arrays

void Worker::declare_shared(const char* name, uintptr_t array, size_t bytes,
                            const SharedShape& shape) {
  size_t all = bytes;
  for (const DeclaredArray& known : declared_) {
    if (known.begin == array) return;
    all += known.bytes;
  }
  declared_.push_back({name, array, bytes, &shape});
  if (cluster_) cluster_->add_array(array - static_begin_, bytes);
  if (checks) checks->declare(array);
  if (grid_->recorder) grid_->recorder->declare_shared(name, array, bytes, shape, false);
  // The launch has counted the kernel's own arrays only, not those of the functions that it calls.
  if (all > kSharedPerBlock)
    throw Fault(cudaErrorInvalidValue,
                "shared memory in " + std::string(kernel()) +
                    ": its __shared__ arrays and those of " + "the functions that it calls take " +
                    std::to_string(all) + " bytes; CUDA allows " + std::to_string(kSharedPerBlock) +
                    " of static shared memory, and more only as extern __shared__\n");
  const size_t limit = dynamic_shared_limit(grid_->launch.address, all);
  if (dynamic_bytes_ > limit)
    throw Fault(cudaErrorInvalidValue,
                "shared memory in " + std::string(kernel()) + ": beside " + std::to_string(all) +
                    " bytes of __shared__ arrays the launch may ask for " + std::to_string(limit) +
                    " of dynamic shared memory, and asks for " + std::to_string(dynamic_bytes_) +
                    "\n");
}

void* Worker::declare_dynamic_shared(const char* name, const SharedShape& shape) {
  dynamic_name_ = name;
  dynamic_shape_ = shape;
  if (grid_->recorder)
    grid_->recorder->declare_shared(name, dynamic_begin_, dynamic_bytes_, shape, true);
  return dynamic_shared_;
}

void* Worker::declare_dynamic_shared_of_file(const char* name, const SharedShape& shape) {
  dynamic_name_of_file_ = name;
  dynamic_shape_of_file_ = shape;
  if (grid_->recorder)
    grid_->recorder->declare_shared(name, dynamic_begin_, dynamic_bytes_, shape, true);
  return dynamic_shared_;
}

std::string Worker::shared_name(uintptr_t address) const {
  const std::string start = "shared memory ";
  if (const Worker* owner = owner_in_cluster(address))
    return shared_name(own_address(address, *owner)) + " of " + owner->block_text();
  if (address - dynamic_begin_ < kSharedPerBlockOptin) {
    const size_t byte = address - dynamic_begin_;
    if (dynamic_name_ != nullptr) return start + element_name(dynamic_name_, dynamic_shape_, byte);
    if (dynamic_name_of_file_ != nullptr)
      return start + element_name(dynamic_name_of_file_, dynamic_shape_of_file_, byte);
    return start + "byte " + std::to_string(byte) + " of the dynamic part";
  }
  for (const DeclaredArray& array : declared_)
    if (address - array.begin < array.bytes)
      return start + element_name(array.name, *array.shape, address - array.begin);
  const int16_t owner = shared_owners()[address - static_begin_];
  if (owner < 0) return "shared memory";
  const SharedArray& array = shared_arrays()[static_cast<size_t>(owner)];
  const size_t byte = address - static_begin_ - (array.offset - shared_begin());
  return start + short_name(array.symbol) + ", byte " + std::to_string(byte) + " of " +
         std::to_string(array.bytes);
}

std::string Worker::near_shared_array(uintptr_t address) const {
  const DeclaredArray* nearest = nullptr;
  size_t distance = SIZE_MAX;
  for (const DeclaredArray& array : declared_) {
    const uintptr_t end = array.begin + array.bytes;
    const size_t here =
        address < array.begin ? array.begin - address : address - std::min(end, address);
    if (here < distance) nearest = &array, distance = here;
  }
  std::string text = "  outside every __shared__ array of the kernel";
  if (nearest != nullptr)
    text += ": " + std::to_string(distance) + " bytes " +
            (address < nearest->begin ? "before the start of " : "past the end of ") +
            nearest->name + " (" + std::to_string(nearest->bytes) + " bytes)";
  return text + "\n  likely: a pointer into an array is moved too far\n";
}

// ---- What kernels call

namespace {
Worker& worker_in_kernel(const char* what) {
  if (kernel_worker) return *kernel_worker;
  std::fprintf(stderr, "%s was called outside a kernel.\n", what);
  std::abort();
}
}  // namespace

int block_barrier(BarrierKind kind, int predicate, Where where) {
  Worker& worker = worker_in_kernel(name_of(kind));
  const SimulatorScope scope;
  return worker.barrier(kind, predicate, where);
}
uint64_t warp_operation(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                        Where where) {
  Worker& worker = worker_in_kernel(name_of(kind));
  const SimulatorScope scope;
  return worker.warp(kind, mask, value, source, is_signed, where);
}
unsigned converged_lanes(Where where) {
  Worker& worker = worker_in_kernel("coalesced_threads()");
  const SimulatorScope scope;
  return static_cast<unsigned>(
      worker.warp(WarpKind::converge, 1u << worker.lane(), 0, 0, false, where));
}
unsigned active_lanes() {
  return worker_in_kernel("__activemask()").active_lanes();
}
int lane() {
  return worker_in_kernel("a warp function").lane();
}
void* declare_dynamic_shared(const char* name, const SharedShape& shape) {
  Worker& worker = worker_in_kernel("extern __shared__ (declare it inside the kernel)");
  const SimulatorScope scope;
  return worker.declare_dynamic_shared(name, shape);
}
/// On the host the variable stays null: whatever thread reads one of the file's thread_local
/// variables initialises them all.
void* declare_dynamic_shared_of_file(const char* name, const SharedShape& shape) {
  if (the_worker == nullptr) return nullptr;
  const SimulatorScope scope;
  return the_worker->declare_dynamic_shared_of_file(name, shape);
}
void declare_shared_array(const char* name, const volatile void* array, size_t bytes,
                          const SharedShape& shape, const volatile void*) {
  if (kernel_worker == nullptr) return;
  Worker& worker = *kernel_worker;
  const SimulatorScope scope;
  worker.declare_shared(name, reinterpret_cast<uintptr_t>(array), bytes, shape);
}

}  // namespace simulator
