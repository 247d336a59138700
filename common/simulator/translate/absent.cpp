#include "common/simulator/translate/absent.hpp"

#include <cctype>

namespace simulator {
namespace {

struct Absent {
  std::string_view begin;  // of the name
  std::string_view what;   // is missing, and what to use instead
};

constexpr std::string_view
    kThrust = "Thrust: copy with cudaMemcpy(), and map, reduce or sort in a kernel of your own",
    kCub = "CUB: cooperative_groups/reduce.h and scan.h have sums and prefix sums of 32 threads",
    kCutlass = "CUTLASS: mma.h (wmma) and common/kernel/mma.cuh have tensor cores",
    kLibcu =
        "libcu++ (cuda::): cooperative_groups/memcpy_async.h and cuda_pipeline.h copy "
        "asynchronously, cooperative_groups.h has barriers, atomicAdd() and its kin atomics",
    kCurand = "cuRAND: make the numbers with <random> on the host, or by a hash in the kernel",
    kBlas = "this part of cuBLAS: cublasSgemm() and cublasGemmEx(), single and in batches, are",
    kCudnn = "cuDNN: write the layer as a kernel, as chapters 04 to 06 do",
    kFft = "cuFFT: write the transform as a kernel",
    kSparse = "cuSPARSE: write the product as a kernel", kSolver = "cuSOLVER: solve on the host",
    kTextures = "texture and surface memory: read and write the array by a pointer",
    kGraphs = "CUDA graphs: launch the kernels one after another in a stream",
    kIpc = "memory shared between processes (cudaIpc…): use one process",
    kModules = "loading of modules (the driver API): launch with <<<…>>> or cudaLaunchKernel()",
    kDriver = "this part of the driver API: use the runtime's functions (cuda…)",
    kVirtual = "Memory of the driver API (cuMem…): use cudaMalloc()",
    kSmall = "numbers of fewer than 8 bits (fp6, fp4): use __nv_fp8_e4m3",
    kGraphics = "OpenGL: copy the picture to the host and write it into a file",
    kGpus = "more than one GPU: use device 0 for all",
    kTools = "this tool's interface: ./learn profile counts what a kernel of a chapter does",
    kNvrtc = "NVRTC: put the kernel into the .cu file";

constexpr Absent kHeaders[] = {
    {"thrust/", kThrust},
    {"cub/", kCub},
    {"cuda/", kLibcu},
    {"cute/", kCutlass},
    {"cutlass/", kCutlass},
    {"curand", kCurand},
    {"cublasXt", kBlas},
    {"cudnn", kCudnn},
    {"cufft", kFft},
    {"cusparse", kSparse},
    {"cusolver", kSolver},
    {"cuda_fp6", kSmall},
    {"cuda_fp4", kSmall},
    {"cuda_gl_interop", kGraphics},
    {"cudaProfiler.h", kTools},
    {"cupti", kTools},
    {"nccl", kGpus},
    {"nvml", kTools},
    {"nvrtc", kNvrtc},
    {"texture_", kTextures},
    {"surface_", kTextures},
};

constexpr Absent kWords[] = {
    {"curand", kCurand},
    {"cublasXt", kBlas},
    {"cudnn", kCudnn},
    {"cufft", kFft},
    {"cusparse", kSparse},
    {"cusolver", kSolver},
    {"cudaGraph", kGraphs},
    {"cudaStreamBeginCapture", kGraphs},
    {"cudaTexture", kTextures},
    {"cudaSurface", kTextures},
    {"cudaCreateTexture", kTextures},
    {"cudaCreateSurface", kTextures},
    {"cudaCreateChannelDesc", kTextures},
    {"cudaBindTexture", kTextures},
    {"cudaArray", kTextures},
    {"cudaMallocArray", kTextures},
    {"cudaMalloc3DArray", kTextures},
    {"tex1D", kTextures},
    {"tex1Dfetch", kTextures},
    {"tex2D", kTextures},
    {"tex3D", kTextures},
    {"cudaIpc", kIpc},
    {"cudaMemcpyPeer", kGpus},
    {"cuModule", kModules},
    {"cuLaunchKernel", kModules},
    {"cuMem", kVirtual},
    {"CUmem", kVirtual},
    {"cuCtx", kDriver},
    {"CUcontext", kDriver},
    {"CUmodule", kModules},
    {"CUfunction", kModules},
    {"cuDeviceGetAttribute", kDriver},
};

constexpr Absent kScopes[] = {{"thrust", kThrust}, {"cub", kCub}, {"cutlass", kCutlass}};

/// The routines of cuBLAS that are there; of the others those with a type's letter in their name,
/// as "cublasDgemv", are refused.
constexpr std::string_view kOfBlas[] = {"cublasSgemm", "cublasSgemmStridedBatched"};

bool is_absent_blas(std::string_view word) {
  constexpr std::string_view kBegin = "cublas", kTypes = "SDCZH";
  if (!word.starts_with(kBegin) || word.size() < 10) return false;
  if (kTypes.find(word[6]) == word.npos || !std::islower(static_cast<unsigned char>(word[7])))
    return false;
  for (const std::string_view known : kOfBlas)
    if (word == known) return false;
  word.remove_prefix(7);
  size_t end = 0;
  while (end < word.size() && std::islower(static_cast<unsigned char>(word[end]))) ++end;
  const std::string_view routine = word.substr(0, end), rest = word.substr(end);
  for (const std::string_view known :
       {"gemm", "gemv", "ger",  "axpy", "dot",  "scal", "nrm2", "asum", "copy", "swap",
        "geam", "dgmm", "trsm", "trmm", "syrk", "symm", "symv", "trsv", "trmv", "rot"})
    if (routine == known && (rest.empty() || rest == "Batched" || rest == "StridedBatched"))
      return true;
  return false;
}

}  // namespace

std::string_view absent_header(std::string_view name) {
  for (const Absent& entry : kHeaders)
    if (name.starts_with(entry.begin)) return entry.what;
  return "";
}

std::string_view absent_word(std::string_view word, bool is_scope) {
  if (is_absent_blas(word)) return kBlas;
  for (const Absent& entry : kScopes)
    if (is_scope && word == entry.begin) return entry.what;
  for (const Absent& entry : kWords) {
    if (!word.starts_with(entry.begin)) continue;
    // "curand_init" and "curandState", but not "curandom".
    const char next = word.size() > entry.begin.size() ? word[entry.begin.size()] : '_';
    if (!std::islower(static_cast<unsigned char>(next))) return entry.what;
  }
  return "";
}

}  // namespace simulator
