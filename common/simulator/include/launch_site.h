// What `kernel<<<grid, block, shared, stream>>>(arguments)` and `extern __shared__` become.
#pragma once

#include <cstddef>
#include <type_traits>

#include "runtime_api.h"

namespace simulator {

struct Launch {
  const char* kernel;   // as written before <<<
  const void* address;  // of the kernel; null when its template arguments are deduced at the call
  dim3 grid, block;
  size_t dynamic_shared;
  cudaStream_t stream;
};

/// Runs `call(context)` once for each thread of the grid. Errors go where CUDA's go: cudaGetLastError.
void launch(const Launch& launch, void (*call)(const void* context), const void* context);

struct ToAddress {
  template <class R, class... P>
  const void* operator()(R (*kernel)(P...)) const {
    return reinterpret_cast<const void*>(kernel);
  }
};

/// `call` calls the kernel with its arguments; `address` gives its address where the expression before
/// <<< is one function.
template <class Call, class Address>
auto launch_site(const char* kernel, Call call, Address address, dim3 grid, dim3 block,
                 size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  const void* where = nullptr;
  if constexpr (std::is_invocable_v<Address, ToAddress>) where = address(ToAddress{});
  return [=](auto... arguments) {
    const auto thread = [&] { call(arguments...); };
    launch({kernel, where, grid, block, dynamic_shared, stream},
           [](const void* context) { (*static_cast<decltype(&thread)>(context))(); }, &thread);
  };
}

/// The block's dynamic shared memory. Only inside a kernel.
void* dynamic_shared_memory();
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_memory());
}

}  // namespace simulator
