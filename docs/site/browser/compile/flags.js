// How a kernel is compiled in the page: as common/cmake/Tutorial.cmake has it for GCC, in Clang's words.
export const flags = [
  '-std=gnu++20', '-O1', '-fPIC',
  '-D__CUDACC__', '-D__CUDA_ARCH__=900', '-I/', '-I/common/simulator/include', '-I/common/simulator/include/ptx', '-I/common/simulator/include/nvtx3',
  '-include', 'cuda_runtime.h',
  // At each access a call of the simulator, and tests in line; of `s[i] += x` the read, too.
  '-Xclang', '-fsanitize=thread', '-mllvm', '-tsan-instrument-func-entry-exit=0', '-mllvm', '-tsan-instrument-read-before-write',
  '-fsanitize=alignment,array-bounds,object-size', '-fsanitize-coverage=trace-pc',
  // … and at each basic block, also where another one's call tells of it: a sample counts the arithmetic of each.
  '-mllvm', '-sanitizer-coverage-prune-blocks=0',
  // GCC leaves loops as loops, whatever a #pragma says, and also those that never end.
  '-fno-finite-loops', '-mllvm', '-pragma-unroll-threshold=0', '-mllvm', '-unroll-threshold=0',
  // What reads null is to be seen, and not left out.
  '-fno-delete-null-pointer-checks',
  // `throw`, and no landing pads: what the hooks above add to them, LLVM takes for a mistake. (So a `catch` in the file
  // catches nothing.) One type of exception is known by one address in all modules.
  '-Xclang', '-fexceptions', '-Xclang', '-fcxx-exceptions', '-Xclang', '-ftype-visibility=default',
  // <string> without <algorithm>, and others: a third less to read.
  '-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES',
  // What sites.js reads.
  '-gline-tables-only', '-fverbose-asm', '-fdebug-compilation-dir=/',
  '-Werror=attribute-warning', '-Wno-unknown-pragmas', '-Wno-deprecated-volatile', '-Wno-pass-failed', '-fno-caret-diagnostics',
]

export const linkFlags = ['-shared', '--experimental-pic', '--no-entry', '--unresolved-symbols=import-dynamic', '--strip-debug']
