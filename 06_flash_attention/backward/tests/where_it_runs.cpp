#include "common/testing/where_it_runs.hpp"

#include "backward/backward.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::backward {

TEST_CASE("part backward runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("06_flash_attention/backward/main.cpp");
  const int64_t heads = gpu.at("--heads"), T = gpu.at("--seq");
  const auto check = [&](int64_t HS, int64_t head_size) {
    const Attention shape{
        .B = gpu.at("--batch"), .NH = heads, .NH_kv = heads, .Tq = T, .Tk = T, .HS = HS};
    check_where_they_run(
        "06/backward", steps,
        [&](Launcher* launch) {
          const int64_t size = shape.rows() * HS;
          DeviceBuffer<float> q(size), k(size), v(size), out(size), dout(size), lse(shape.rows()),
              dq(size), dk(size), dv(size);
          DeviceBuffer<std::byte> memory(workspace_bytes(shape, launch));
          launch(shape,
                 {q.data(), k.data(), v.data(), out.data(), dout.data(), lse.data(), dq.data(),
                  dk.data(), dv.data()},
                 workspace_in(memory), nullptr);
        },
        head_size);
  };
  check(gpu.at("--head-dim"), 0);
  for (const int64_t head_size : HEAD_SIZES) check(head_size, head_size);
}

}  // namespace tutorial::flash_attention::backward
