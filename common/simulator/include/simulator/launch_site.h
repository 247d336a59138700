// What `kernel<<<grid, block, shared, stream>>>(arguments)`, `extern __shared__` and
// `__cluster_dims__` become.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "element_type.h"
#include "runtime_api.h"
#include "shared_shape.h"

namespace simulator {

/// An argument of a launch, for a trace: the pointers among them name the arrays of global memory.
struct Argument {
  const void* value;
  size_t bytes;
  bool is_pointer;
  ElementType points_to;
};
template <class T>
Argument as_argument(const T& value) {
  if constexpr (std::is_pointer_v<T>)
    return {&value, sizeof value, true, element_type<std::remove_pointer_t<T>>()};
  else
    return {&value, sizeof value, false, {}};
}

struct Launch {
  const char* kernel;   // as written before <<<
  const void* address;  // of the kernel; null when its template arguments are deduced at the call
  dim3 grid, block;
  size_t dynamic_shared;
  cudaStream_t stream;
  const Argument* arguments;  // in the order of the parameters
  size_t argument_count;
  dim3 cluster = {1, 1, 1};         // blocks of a cluster
  bool names_cluster = false;       // the launch itself says how many
  std::source_location where = {};  // of <<<…>>>
};

/// Runs `call(context)` once for each thread of the grid; `context` is an object of that many
/// bytes. Errors go where CUDA's go: cudaGetLastError.
void launch(const Launch& launch, void (*call)(const void* context), const void* context,
            size_t context_bytes);

/// For what runs on a thread of the grid before the kernel begins: it reads the host's memory.
#define SIMULATOR_UNCHECKED __attribute__((no_sanitize_thread))

/// A thread of the grid, by the address of what it does. (A lambda would be checked all the same,
/// where it is made a pointer to a function.)
template <class Thread>
SIMULATOR_UNCHECKED void run_thread(const void* thread) {
  (*static_cast<const Thread*>(thread))();
}

/// The one place where a kernel may be called (see __global__).
#define SIMULATOR_CONFIGURED(...)                                                          \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wattribute-warning\"") \
      __VA_ARGS__;                                                                         \
  _Pragma("GCC diagnostic pop")

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
                 size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                 std::source_location where = std::source_location::current()) {
  constexpr bool is_one_function = std::is_invocable_v<OfKernel, ToAddress>;
  const void* address = nullptr;
  if constexpr (is_one_function) address = of_kernel(ToAddress{});
  const auto run = [=](auto... arguments) {
    const auto thread = [=]() SIMULATOR_UNCHECKED { call(arguments...); };
    const Argument listed[] = {as_argument(arguments)..., {}};  // C++ has no array of none
    launch({.kernel = kernel,
            .address = address,
            .grid = grid,
            .block = block,
            .dynamic_shared = dynamic_shared,
            .stream = stream,
            .arguments = listed,
            .argument_count = sizeof...(arguments),
            .where = where},
           run_thread<std::remove_const_t<decltype(thread)>>, &thread, sizeof thread);
  };
  if constexpr (is_one_function)
    return Site<decltype(run), std::invoke_result_t<OfKernel, ToParameters>>{run};
  else
    return Site<decltype(run), void>{run};
}

/// A kernel's name, for reports.
const char* kernel_name(const void* kernel);

/// The block's dynamic shared memory. Only inside a kernel.
void* declare_dynamic_shared(const char* name, const SharedShape& shape);
template <class T>
T* dynamic_shared(const char* name) {
  return static_cast<T*>(declare_dynamic_shared(name, kShape<T[]>));
}

/// The same for an array that is declared outside of functions: the worker's, which it keeps.
void* declare_dynamic_shared_of_file(const char* name, const SharedShape& shape);
template <class T>
T* dynamic_shared_of_file(const char* name) {
  return static_cast<T*>(declare_dynamic_shared_of_file(name, kShape<T[]>));
}

/// The first thing in a kernel that has __cluster_dims__: it runs in clusters of this size only.
void cluster_dims(dim3 size);

}  // namespace simulator

namespace simulator {

/// Launches a kernel with the values of its parameters.
template <class... P>
cudaError_t launch_with(void (*kernel)(P...), const std::tuple<P...>& values, dim3 grid, dim3 block,
                        size_t dynamic_shared, cudaStream_t stream, std::optional<dim3> cluster) {
  const void* const address = reinterpret_cast<const void*>(kernel);
  // Not by std::apply(): the first function that a thread enters is its kernel (call_stack.hpp).
  const auto call = [=]<size_t... I>(std::index_sequence<I...>) SIMULATOR_UNCHECKED {
    kernel(std::get<I>(values)...);
  };
  const auto thread = [=]() SIMULATOR_UNCHECKED { call(std::index_sequence_for<P...>{}); };
  const auto listed = std::apply(
      [](const P&... value) { return std::array<Argument, sizeof...(P)>{as_argument(value)...}; },
      values);
  launch({kernel_name(address), address, grid, block, dynamic_shared, stream, listed.data(),
          listed.size(), cluster.value_or(dim3(1, 1, 1)), cluster.has_value()},
         run_thread<std::remove_const_t<decltype(thread)>>, &thread, sizeof thread);
  return cudaPeekAtLastError();
}

/// The size of a cluster among a launch's attributes.
inline std::optional<dim3> cluster_of(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& size = config.attrs[i].val.clusterDim;
      return dim3(size.x, size.y, size.z);
    }
  return std::nullopt;
}

/// How many clusters of such a launch the device could hold.
cudaError_t most_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t& config);

}  // namespace simulator

/// `arguments` has the address of each. (Of a kernel that is cast to void* the parameters are not
/// known: the translator drops the cast.)
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  const auto values = [&]<size_t... I>(std::index_sequence<I...>) {
    return std::tuple<P...>(*static_cast<P*>(arguments[I])...);
  }
  (std::index_sequence_for<P...>{});
  return simulator::launch_with(kernel, values, grid, block, dynamic_shared, stream, std::nullopt);
}

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                               A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
  if (config == nullptr) return cudaErrorInvalidValue;
  return simulator::launch_with(
      kernel, std::tuple<P...>(static_cast<P>(static_cast<A&&>(arguments))...), config->gridDim,
      config->blockDim, config->dynamicSmemBytes, config->stream, simulator::cluster_of(*config));
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*kernel)(P...),
                                           const cudaLaunchConfig_t* config) {
  if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
  return simulator::most_clusters(clusters, reinterpret_cast<const void*>(kernel), *config);
}
