// For the tests of the program: the reference in place of step 1, and wrong where they say so. What
// is behind out's elements are lse's.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/kernel/check.hpp"
#include "common/testing/spoil.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

std::vector<float> on_host(const bf16* from, int64_t size) {
  std::vector<bf16> values(static_cast<size_t>(size));
  CUDA_CHECK(cudaMemcpy(values.data(), from, values.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
  return widened<bf16>(values);
}

}  // namespace

void warpgroups(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, Workspace, cudaStream_t) {
  const int64_t size = shape.rows() * shape.HS, keys = shape.B * shape.NH_kv * shape.Tk * shape.HS;
  if (size == 0) return;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < shape.rows(); ++row) rows.push_back(row);
  const Reference want = tensor_cores::reference_bf16(shape, on_host(q, size), on_host(k, keys),
                                                      on_host(v, keys), rows);
  std::vector<float> both(want.out.value.begin(), want.out.value.end());
  both.insert(both.end(), want.lse.value.begin(), want.lse.value.end());
  DeviceBuffer<float> result(both);
  spoil(result.data());
  both = result.to_host();
  const std::vector<bf16> rounded =
      narrowed<bf16>(std::span(both).first(static_cast<size_t>(size)));
  CUDA_CHECK(
      cudaMemcpy(out, rounded.data(), rounded.size() * sizeof(bf16), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(lse, both.data() + size, want.lse.value.size() * sizeof(float),
                        cudaMemcpyHostToDevice));
}

}  // namespace tutorial::flash_attention::hopper
