// Makes C++ of a .cu file. CUDA C++ has three constructs that C++ has not; they are rewritten and
// all else stays as it is, on the line where it was:
//
//   kernel<<<grid, block>>>(x);   ->  ::simulator::launch_site("kernel", …, grid, block)(x);
//   extern __shared__ float s[];  ->  float* const s = ::simulator::dynamic_shared<float>("s");
//   __cluster_dims__(2) k() {     ->  k() { constexpr ::dim3 simulator_cluster{2};
//                                     ::simulator::cluster_dims(simulator_cluster);
//
// (Outside of functions that becomes a variable that each thread of the host sets once.) Behind a
// `__shared__` array it puts a gap, and a call that tells the array's name for reports:
//
//   __shared__ int a[4];          ->  __shared__ int a[4], simulator_gap_after_a[64];
//                                     ::simulator::declare_shared("a", a, simulator_gap_after_a);
//
// Of `static __constant__` the first word is dropped, because __constant__ becomes "static". Of
// cudaLaunchKernel((void*)k, …) the cast is dropped, so that k's parameters are known. Inline PTX
// becomes calls (inline_ptx.hpp). And what the CPU backend has not at all (absent.hpp) is refused
// here, or by the compiler where it stands in an #if, which may remove it.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace simulator {

/// A launch or a declaration that is not understood. what() reads "path:line: …".
struct TranslateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The path to write in the place of what `#include "name"`, or <name>, names; "": leave it.
using Resolve = std::function<std::string(const std::string& name, bool is_quoted)>;

/// Values to put in the place of those that the source gives to a name, by `#define N 1000` or
/// `const int N = 1000`: ./learn try --set N=64.
using Settings = std::map<std::string, std::string, std::less<>>;

/// A file with kernels, or one of the host's alone, in which nothing is rewritten.
enum class Side { device, host };

/// The C++ for `source`. Before its first line stands `#line 1 "path"`, so that compilers and
/// debuggers show the .cu file, and before that an #include if there is inline PTX; each line of
/// the source then gives one line. Comments and literals are not touched, and of the preprocessor's
/// lines only #define is, and #include as `resolve` says. Throws TranslateError.
std::string translate_source(const std::string& source, const std::string& path,
                             const Resolve& resolve = {}, const Settings& settings = {},
                             Side side = Side::device);

}  // namespace simulator
