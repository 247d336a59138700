#include "common/testing/where_it_runs.hpp"

#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {

TEST_CASE("part fp8 of chapter 06 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("06_flash_attention/fp8/main.cpp");
  const int64_t heads = gpu.at("--heads"), T = gpu.at("--seq");
  const auto check = [&](int64_t HS, int64_t head_size) {
    const Attention shape{
        .B = gpu.at("--batch"), .NH = heads, .NH_kv = heads, .Tq = T, .Tk = T, .HS = HS};
    check_where_they_run(
        "06/fp8", steps,
        [&](Launcher* launch) {
          const int64_t size = shape.rows() * HS;
          DeviceBuffer<e4m3> q(size), k(size), v(size);
          DeviceBuffer<float> scales(shape.B * heads), lse(shape.rows());
          DeviceBuffer<bf16> out(size);
          DeviceBuffer<std::byte> memory(workspace_bytes(shape));
          launch(shape, q.data(), k.data(), v.data(), {scales.data(), scales.data(), scales.data()},
                 out.data(), lse.data(), workspace_in(memory), nullptr);
        },
        head_size);
  };
  check(gpu.at("--head-dim"), 0);
  for (const int64_t head_size : HEAD_SIZES) check(head_size, head_size);
}

}  // namespace tutorial::flash_attention::fp8
