#include "common/simulator/translate/absent.hpp"

#include <cctype>

namespace simulator {
namespace {

struct Absent {
  std::string_view begin;  // of the name
  std::string_view what;
};

constexpr std::string_view kTextures = "texture and surface memory", kGraphs = "CUDA graphs",
                           kModules = "loading of modules (the driver API)",
                           kLibcu = "libcu++ (cuda::)";

constexpr Absent kHeaders[] = {
    {"thrust/", "Thrust"},
    {"cub/", "CUB"},
    {"cuda/", kLibcu},
    {"cute/", "CUTLASS"},
    {"cutlass/", "CUTLASS"},
    {"curand", "cuRAND"},
    {"cublasXt", "cuBLASXt"},
    {"cudnn", "cuDNN"},
    {"cufft", "cuFFT"},
    {"cusparse", "cuSPARSE"},
    {"cusolver", "cuSOLVER"},
    {"cuda_fp8", "fp8"},
    {"cuda_fp6", "fp6"},
    {"cuda_fp4", "fp4"},
    {"cuda_gl_interop", "OpenGL"},
    {"cudaProfiler.h", "the driver API's profiler"},
    {"cupti", "CUPTI"},
    {"nccl", "NCCL"},
    {"nvml", "NVML"},
    {"nvrtc", "NVRTC"},
    {"texture_", kTextures},
    {"surface_", kTextures},
};

constexpr Absent kWords[] = {
    {"curand", "cuRAND"},
    {"cudnn", "cuDNN"},
    {"cufft", "cuFFT"},
    {"cusparse", "cuSPARSE"},
    {"cusolver", "cuSOLVER"},
    {"cudaGraph", kGraphs},
    {"cudaStreamBeginCapture", kGraphs},
    {"cudaTexture", kTextures},
    {"cudaSurface", kTextures},
    {"cudaCreateTexture", kTextures},
    {"cudaCreateSurface", kTextures},
    {"cudaBindTexture", kTextures},
    {"cudaArray", kTextures},
    {"cudaMallocArray", kTextures},
    {"cudaMalloc3DArray", kTextures},
    {"tex1D", kTextures},
    {"tex1Dfetch", kTextures},
    {"tex2D", kTextures},
    {"tex3D", kTextures},
    {"cudaIpc", "memory shared between processes (cudaIpc…)"},
    {"cuModule", kModules},
    {"cuLaunchKernel", kModules},
};

constexpr Absent kScopes[] = {{"thrust", "Thrust"}, {"cub", "CUB"}, {"cutlass", "CUTLASS"}};

}  // namespace

std::string_view absent_header(std::string_view name) {
  for (const Absent& entry : kHeaders)
    if (name.starts_with(entry.begin)) return entry.what;
  return "";
}

std::string_view absent_word(std::string_view word, bool is_scope) {
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
