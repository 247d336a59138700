#include "common/simulator/run/block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "common/simulator/count/sample.hpp"
#include "common/simulator/units/waiting.hpp"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace simulator {
namespace {

constexpr unsigned char kPoison =
    0xff;  // NaN as float, -1 as int: as in common/data/device_buffer.hpp
constexpr const char* kStacks = "its threads' stacks";

/// The kernel's local variables will lie where this function's lie.
__attribute__((noinline)) void poison_stack() {
  uint32_t words[1024];
  std::fill(std::begin(words), std::end(words), kUnwritten);
  asm volatile("" : : "r"(words) : "memory");
}

}  // namespace

constinit bool has_matrix_operations = false;

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

Worker::Worker(Worker* leader)
    : RunningBlock(leader ? leader->progress : *new Progress(heed)),
      leader_(leader),
      own_progress_(leader ? nullptr : &progress),
      crash_stack_(leader ? nullptr : std::make_unique<CrashStack>()),
      own_hopper_(*this),
      stack_pages_(map_closed_pages(kMaxThreads * kStack, kStacks)),
      dynamic_pages_(map_pages(kPage + kSharedPerBlockOptin, "shared memory")) {
  hopper = &own_hopper_;
  async_copies = &own_async_copies_;
  close_pages(dynamic_pages_, kPage);
  dynamic_begin_ = reinterpret_cast<uintptr_t>(dynamic_pages_ + kPage);
  static_begin_ = reinterpret_cast<uintptr_t>(thread_local_base()) + shared_begin();
  static_bytes_ = shared_owners().size();
  stacks_begin_ = reinterpret_cast<uintptr_t>(stack_pages_);
  thread_begin_ = reinterpret_cast<uintptr_t>(thread_local_base());
  thread_bytes_ = thread_local_bytes();
}

Worker::~Worker() {
  abandon_fibers();
  if (image_) unmap_pages(image_, kPage + static_bytes_);
  unmap_pages(stack_pages_, kMaxThreads * kStack);
  unmap_pages(dynamic_pages_, kPage + kSharedPerBlockOptin);
}

void Worker::abandon_fibers() {
  idle_.clear();
  for (const auto& stack : stacks_) stack->fiber->abandon();
  stacks_.clear();
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
  cluster_blocks_ = nullptr;
  rank_ = 0;
  make_current();
  const dim3& size = grid.launch.block;
  capability_ = architecture().capability;
  threads_.assign(static_cast<size_t>(size.x) * size.y * size.z, Thread{});
  thread_count_ = static_cast<int>(threads_.size());
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
  std::memset(dynamic_shared(), kPoison, dynamic_bytes_);
  if (checks_are_on() && own_checks_ == nullptr) own_checks_ = std::make_unique<Checks>(*this);
  checks = checks_are_on() ? own_checks_.get() : nullptr;
  if (checks) checks->begin_block(*grid.operation, block_number(), thread_count_);
  async_copies->begin_block();
  if (hopper->used) hopper->begin_block();
  hopper->used = false;
  trace = profiling() || grid.recorder || sampling() ? &own_trace_ : nullptr;
  if (trace) trace->begin_block(thread_count_, grid.recorder, sampling());
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
    the_block = nullptr;
    throw;
  }
  progress.rest();
  the_block = nullptr;
}

void Worker::make_current() {
  blockIdx = block_;
  blockDim = grid_->launch.block;
  gridDim = grid_->launch.grid;
}

/// Lets the block's threads run. False if some are left and none can go on.
bool Worker::run() {
  heed = trace != nullptr || progress.must_stop();
  the_block = this;
  bool all_ended = false;
  if (!way_out_.run([&] { all_ended = schedule(); })) throw_crash();
  return all_ended;
}

/// New threads first, in order; then those that a barrier let go; the late warp's only when nobody
/// else can go on. A fiber whose thread has finished takes the next one itself, so that kernels
/// without barriers never switch.
bool Worker::schedule() {
  const int count = thread_count_;
  while (finished_ < count) {
    if (next_ < count) {
      resume(idle_stack());
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

Worker::Stack& Worker::idle_stack() {
  if (!idle_.empty()) {
    Stack& stack = *idle_.back();
    idle_.pop_back();
    return stack;
  }
  unsigned char* const guard = stack_pages_ + stacks_.size() * kStack;  // the lowest page
  if (!open_pages(guard + kPage, kStack - kPage)) {
    std::fputs("The simulator found too little memory for its threads' stacks.\n", stderr);
    std::exit(2);
  }
  stacks_.push_back(std::make_unique<Stack>());
  Stack& stack = *stacks_.back();
  stack.begin = reinterpret_cast<uintptr_t>(guard);
  stack.fiber =
      std::make_unique<Fiber>(guard + kPage, kStack - kPage, [this, &stack] { live_on(stack); });
  return stack;
}

void Worker::go_on(int thread) {
  select(thread);
  resume(*threads_[thread].stack);
}

void Worker::resume(Stack& stack) {
  fiber_ = stack.fiber.get();
  fiber_->resume();
}

/// Whom schedule() would resume next, if that is said in a word.
Fiber* Worker::next_at_hand() {
  if (fault_error_ != cudaSuccess) return nullptr;
  if (next_ < thread_count_) return idle_stack().fiber.get();
  if (ready_next_ == ready_.size() || late_warp_ != kNoWarp) return nullptr;
  const int thread = next_ready();
  select(thread);
  return threads_[thread].stack->fiber.get();
}

/// Back to schedule(), or to the next thread; returns when the fiber is resumed.
void Worker::suspend() {
  Fiber* const own = fiber_;
  Fiber* const next = Fiber::kPasses ? next_at_hand() : nullptr;
  if (next == nullptr) return own->suspend();
  if (next == own) return;  // its next thread, or it was woken meanwhile
  fiber_ = next;
  if constexpr (Fiber::kPasses) own->pass_to(*next);
}

/// A fiber's life: thread after thread.
void Worker::live_on(Stack& stack) {
  for (;;) {
    while (next_ < thread_count_ && fault_error_ == cudaSuccess) {
      const int thread = next_thread();
      threads_[thread].stack = &stack;
      select(thread);
      if (has_matrix_operations) poison_stack();
      stack.calls.begin();
      try {
        kernel_block = this;
        grid_->call(grid_->context);
        kernel_block = nullptr;
        on_thread_finished(current_);
      } catch (const Fault& fault) {
        kernel_block = nullptr;
        fault_ = fault.what();
        fault_error_ = fault.error;
      } catch (const std::exception& exception) {
        kernel_block = nullptr;
        fault_ = "exception in " + where_is(current_) + "\n  " + exception.what() +
                 "\n  device code cannot throw: a GPU would stop the kernel\n";
        fault_error_ = cudaErrorLaunchFailure;
      } catch (...) {
        kernel_block = nullptr;
        fault_ = "exception in " + where_is(current_) +
                 "\n  device code cannot throw: a GPU would stop the kernel\n";
        fault_error_ = cudaErrorLaunchFailure;
      }
    }
    idle_.push_back(&stack);
    suspend();
  }
}

void Worker::select(int thread) {
  current_ = thread;
  progress.turn();
  local_begin_ = threads_[thread].stack->begin;
  calls_ = &threads_[thread].stack->calls;
  const unsigned index = static_cast<unsigned>(thread);
  threadIdx = {index % blockDim.x, index / blockDim.x % blockDim.y,
               index / (blockDim.x * blockDim.y)};
}

void Worker::wait_for(const Waiting& what) {
  settle();
  Thread& self = threads_[current_];
  self.state = State::waiting;
  self.waits_for = &what;
  self.instruction = with_callers(what.instruction);
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
  const int end = std::min(warp + 32, thread_count_);
  for (int t = warp; waiting_lanes_ > 0 && t < end; ++t)
    if (threads_[t].state == State::at_warp_operation) try_finish_warp(t);
  if (trace && living_lanes(warp) == 0) trace->warp_finished(warp / 32);
  // Nor do those at a barrier, which waits for the threads that are still there.
  if (waiting_ > 0 && waiting_ + finished_ == thread_count_) finish_barrier();
  if (cluster_) cluster_->leave(threads_[thread].arrivals > cluster_->phase());
  if (cluster_ && checks && has_left()) checks->block_left();
}

// ---- Barriers of the block

int Worker::barrier(BarrierKind kind, int predicate, Where where, const void* instruction) {
  Thread& self = threads_[current_];
  self.instruction = with_callers(instruction);
  self.state = State::at_barrier;
  self.where = where;
  self.barrier_kind = kind;
  self.predicate = predicate;
  const int me = current_;
  settle();
  if (++waiting_ + finished_ == thread_count_) {
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
    checks->barrier_without(finished_, name_of(first.barrier_kind), place_with_callers(first));
  for (int t = 0; t < thread_count_; ++t) {
    if (threads_[t].state == State::finished) continue;
    threads_[t].predicate = result;
    threads_[t].state = State::ready;
    if (t != current_) ready_.push_back(t);
  }
  waiting_ = 0;
  if (checks) checks->barrier_passed(first.where);
  if (trace) trace->barrier_passed(first.where);
}

}  // namespace simulator
