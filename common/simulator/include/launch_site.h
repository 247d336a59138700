// What `kernel<<<grid, block, shared, stream>>>(arguments)` and `extern __shared__` become.
#pragma once

#include <cstddef>
#include <type_traits>

#include "runtime_api.h"
#include "shared_shape.h"

namespace simulator {

struct Launch {
  const char* kernel;   // as written before <<<
  const void* address;  // of the kernel; null when its template arguments are deduced at the call
  dim3 grid, block;
  size_t dynamic_shared;
  cudaStream_t stream;
};

/// Runs `call(context)` once for each thread of the grid; `context` is an object of that many
/// bytes. Errors go where CUDA's go: cudaGetLastError.
void launch(const Launch& launch, void (*call)(const void* context), const void* context,
            size_t context_bytes);

/// For what runs on a thread of the grid before the kernel begins: it reads the host's memory.
#define SIMULATOR_UNCHECKED __attribute__((no_sanitize_thread))

struct ToAddress {
  template <class R, class... P>
  const void* operator()(R (*kernel)(P...)) const {
    return reinterpret_cast<const void*>(kernel);
  }
};

/// The parameters of a kernel, where the expression before <<< is one function.
template <class... P>
struct Parameters {};
struct ToParameters {
  template <class... P>
  Parameters<P...> operator()(void (*)(P...)) const {
    return {};
  }
};

/// What a launch's arguments are given to. With the kernel's own parameters where they are known,
/// so that arguments convert as in any call ({1, 2}, or 0 for a pointer); otherwise, or with fewer
/// arguments than parameters, with the arguments' types.
template <class Run, class Parameters>
struct Site {
  Run run;
  template <class... A>
  void operator()(A... arguments) const {
    run(arguments...);
  }
};
template <class Run, class... P>
struct Site<Run, Parameters<P...>> {
  Run run;
  void operator()(P... arguments) const { run(arguments...); }
  template <class... A>
  requires(sizeof...(A) < sizeof...(P)) void operator()(A... arguments) const { run(arguments...); }
};

/// `call` calls the kernel with its arguments; `of_kernel(f)` is f(kernel) where the expression
/// before
/// `<<<` is one function.
template <class Call, class OfKernel>
auto launch_site(const char* kernel, Call call, OfKernel of_kernel, dim3 grid, dim3 block,
                 size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  constexpr bool is_one_function = std::is_invocable_v<OfKernel, ToAddress>;
  const void* address = nullptr;
  if constexpr (is_one_function) address = of_kernel(ToAddress{});
  const auto run = [=](auto... arguments) {
    const auto thread = [=]() SIMULATOR_UNCHECKED { call(arguments...); };
    launch(
        {kernel, address, grid, block, dynamic_shared, stream},
        [](const void* context)
            SIMULATOR_UNCHECKED { (*static_cast<decltype(&thread)>(context))(); },
        &thread, sizeof thread);
  };
  if constexpr (is_one_function)
    return Site<decltype(run), std::invoke_result_t<OfKernel, ToParameters>>{run};
  else
    return Site<decltype(run), void>{run};
}

/// The block's dynamic shared memory. Only inside a kernel.
void* declare_dynamic_shared(const char* name, const SharedShape& shape);
template <class T>
T* dynamic_shared(const char* name) {
  return static_cast<T*>(declare_dynamic_shared(name, kShape<T[]>));
}

}  // namespace simulator
