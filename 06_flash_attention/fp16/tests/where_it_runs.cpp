#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "fp16/fp16.hpp"

namespace tutorial::flash_attention::fp16 {

TEST_CASE("part fp16 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("06_flash_attention/fp16/main.cpp");
  const int64_t heads = gpu.at("--heads"), T = gpu.at("--seq");
  const auto check = [&](int64_t HS, int64_t head_size) {
    const Attention shape{
        .B = gpu.at("--batch"), .NH = heads, .NH_kv = heads, .Tq = T, .Tk = T, .HS = HS};
    check_where_they_run(
        "06/fp16", steps,
        [&](Launcher* launch) {
          const int64_t size = shape.rows() * HS;
          DeviceBuffer<__half> q(size), k(size), v(size), out(size + 1);
          DeviceBuffer<float> lse(shape.rows());
          launch(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
          launch(shape, q.data(), k.data(), v.data(), out.data() + 1, lse.data(), nullptr);
        },
        head_size);
  };
  check(gpu.at("--head-dim"), 0);
  for (const int64_t head_size : HEAD_SIZES) check(head_size, head_size);
}

}  // namespace tutorial::flash_attention::fp16
