// What a kernel calls: barriers, operations of its warp, the declarations of its __shared__ arrays.
#include <cstdio>
#include <cstdlib>

#include "common/simulator/run/block.hpp"
#include "cooperative_groups.h"

namespace simulator {

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
  return dynamic_shared();
}

void* Worker::declare_dynamic_shared_of_file(const char* name, const SharedShape& shape) {
  dynamic_name_of_file_ = name;
  dynamic_shape_of_file_ = shape;
  if (grid_->recorder)
    grid_->recorder->declare_shared(name, dynamic_begin_, dynamic_bytes_, shape, true);
  return dynamic_shared();
}

// ---- What kernels call

namespace {
Worker& worker_in_kernel(const char* what) {
  if (Worker* const worker = kernel_worker()) return *worker;
  std::fprintf(stderr, "%s was called outside a kernel.\n", what);
  std::abort();
}
}  // namespace

int block_barrier(BarrierKind kind, int predicate, Where where) {
  Worker& worker = worker_in_kernel(name_of(kind));
  const SimulatorScope scope;
  return worker.barrier(kind, predicate, where, __builtin_return_address(0));
}
uint64_t warp_operation(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                        Where where) {
  Worker& worker = worker_in_kernel(name_of(kind));
  const SimulatorScope scope;
  return worker.warp(kind, mask, value, source, is_signed, where, __builtin_return_address(0));
}
unsigned converged_lanes(Where where) {
  Worker& worker = worker_in_kernel("coalesced_threads()");
  const SimulatorScope scope;
  return static_cast<unsigned>(worker.warp(WarpKind::converge, 1u << worker.lane(), 0, 0, false,
                                           where, __builtin_return_address(0)));
}
unsigned active_lanes() {
  return worker_in_kernel("__activemask()").active_lanes();
}
int lane() {
  return worker_in_kernel("a warp function").lane();
}
/// A grid's first blocks go to one after another.
unsigned multiprocessor() {
  return worker_in_kernel("%smid").block_number() % kMultiprocessors;
}
void* declare_dynamic_shared(const char* name, const SharedShape& shape) {
  Worker& worker = worker_in_kernel("extern __shared__ (declare it inside the kernel)");
  const SimulatorScope scope;
  return worker.declare_dynamic_shared(name, shape);
}
/// On the host the variable stays null: whatever thread reads one of the file's thread_local
/// variables initialises them all.
void* declare_dynamic_shared_of_file(const char* name, const SharedShape& shape) {
  if (the_worker() == nullptr) return nullptr;
  const SimulatorScope scope;
  return the_worker()->declare_dynamic_shared_of_file(name, shape);
}
void declare_shared_array(const char* name, const volatile void* array, size_t bytes,
                          const SharedShape& shape, const volatile void*) {
  if (kernel_worker() == nullptr) return;
  Worker& worker = *kernel_worker();
  const SimulatorScope scope;
  worker.declare_shared(name, reinterpret_cast<uintptr_t>(array), bytes, shape);
}

}  // namespace simulator
