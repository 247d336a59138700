#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "few_queries/few_queries.hpp"

namespace tutorial::flash_attention::few_queries {

TEST_CASE("part few_queries runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("06_flash_attention/few_queries/main.cpp");
  const auto check = [&](int64_t queries, int64_t HS, int64_t head_size) {
    const Attention shape{.B = gpu.at("--batch"),
                          .NH = gpu.at("--heads"),
                          .NH_kv = gpu.at("--kv-heads"),
                          .Tq = queries,
                          .Tk = gpu.at("--seq-kv"),
                          .HS = HS};
    check_where_they_run(
        "06/few_queries", steps,
        [&](Launcher* launch) {
          const int64_t keys = shape.B * shape.NH_kv * shape.Tk * HS;
          DeviceBuffer<bf16> q(shape.rows() * HS), k(keys), v(keys), out(shape.rows() * HS);
          DeviceBuffer<float> lse(shape.rows());
          DeviceBuffer<std::byte> memory(workspace_bytes(shape));
          launch(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
                 nullptr);
        },
        head_size);
  };
  check(gpu.at("--seq"), gpu.at("--head-dim"), 0);
  for (const int64_t head_size : HEAD_SIZES) {
    check(1, head_size, head_size);
    check(16, head_size, head_size);
  }
}

}  // namespace tutorial::flash_attention::few_queries
