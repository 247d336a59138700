// What Python calls: tutorial_ops.py puts it below a step, in one file with all that it needs.
// CHAPTER, LADDER and STEP become the step's; of what follows a `// ----` its ladder's lines stay.
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "HEADER"
#include "common/kernel/check.hpp"
#include "common/kernel/workspace.hpp"

using namespace tutorial;
using namespace CHAPTER;
using namespace LADDER;

struct Tensor {  // for a parameter of any pointer type
  void* first;
  template <class T>
  operator T*() const {
    return static_cast<T*>(first);
  }
};

/// nullptr, or what was wrong. Inputs come first; `allocate` has memory of PyTorch's for the call.
extern "C" const char* launch(const Tensor* t, const int64_t* s, int device,
                              void* (*allocate)(int64_t), cudaStream_t stream) try {
  CUDA_CHECK(cudaSetDevice(device));
  [[maybe_unused]] const auto workspace = [allocate](int64_t bytes) {
    const Workspace memory = {bytes > 0 ? allocate(bytes) : nullptr, bytes};
    if (bytes > 0 && memory.memory == nullptr) throw Error("no memory for the step's workspace");
    return memory;
  };
  // ---- 01 02
  STEP(t[0], t[1], t[2], s[0], s[1], s[2]);
  // ---- 02/faster
  STEP(t[0], t[1], t[2], s[0], s[1], s[2], 1, 0);
  // ---- 02/tf32
  STEP({s[0], s[1], s[2]}, t[0], t[1], t[2], stream);
  // ---- 02/any_shape
  const ScaledProduct product = {s[0], s[1], s[2]};
  STEP(product, t[0], t[1], t[2], workspace(LADDER::workspace_bytes(product, t[1])), stream);
  // ---- 02/tensor_cores 02/hopper 02/few_rows
  const Bf16Product product = {s[0], s[1], s[2]};
  bf16* const C = t[2];  // it could be float32, too
  STEP(product, t[0], t[1], C, workspace(LADDER::workspace_bytes(product, t[0], t[1])), stream);
  // ---- 02/fp16
  STEP({s[0], s[1], s[2]}, t[0], t[1], static_cast<__half*>(t[2]), {}, stream);
  // ---- 04
  STEP(t[0], t[1], s[0], s[1]);
  // ---- 04/long_rows
  STEP({s[0], s[1]}, t[0], t[1], stream);
  // ---- 05 05/strips: what the stages leave for each other stays, for a next call of these sizes
  const Attention attention = {s[0], s[1], s[2] * s[3], s[2], s[4] != 0};
  static std::map<std::vector<int64_t>, StageWorkspace> kept;
  const std::vector<int64_t> sizes(s, s + 6);  // with the device's number
  if (!kept.contains(sizes)) kept.clear();
  STEP(attention, t[0], kept.try_emplace(sizes, attention).first->second, t[1]);
  // ---- 06 06/faster
  STEP({s[0], s[1], s[2], s[3], s[4], s[5], s[6] != 0}, t[0], t[1], t[2], t[3], t[4], t[5]);
  // ---- 06/tensor_cores 06/fp16
  STEP({s[0], s[1], s[2], s[3], s[4], s[5], s[6] != 0}, t[0], t[1], t[2], t[3], t[4], stream);
  // ---- 06/any_shape 06/hopper 06/few_queries
  const Attention shape = {s[0], s[1], s[2], s[3], s[4], s[5], s[6] != 0};
  STEP(shape, t[0], t[1], t[2], t[3], t[4], workspace(LADDER::workspace_bytes(shape)), stream);
  // ---- 06/backward
  const Attention shape = {s[0], s[1], s[2], s[3], s[4], s[5], s[6] != 0};
  STEP(shape, {t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]},
       workspace(LADDER::workspace_bytes(shape, STEP)), stream);
  // ---- 06/backward_tensor_cores
  const Attention shape = {s[0], s[1], s[2], s[3], s[4], s[5], s[6] != 0};
  STEP(shape, {t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]},
       workspace(LADDER::workspace_bytes(shape)), stream);
  // ---- 06/joint
  STEP(t[0], t[1], t[2], t[3], t[4], s[0], s[1], s[2]);
  // ---- all
  return nullptr;
} catch (const std::exception& error) {
  static std::string message;
  return (message = error.what()).c_str();
}
