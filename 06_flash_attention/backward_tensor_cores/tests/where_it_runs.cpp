#include "common/testing/where_it_runs.hpp"

#include "problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

TEST_CASE("part backward_tensor_cores runs on every GPU that the table names", "[where_it_runs]") {
  for (const int64_t HS : {int64_t{64}, int64_t{128}}) {
    const Attention shape = {.B = 4, .NH = 16, .NH_kv = 16, .Tq = 4096, .Tk = 4096, .HS = HS};
    check_where_they_run(
        "06/backward_tensor_cores", steps,
        [&](Launcher* launch) {
          DeviceBuffer<bf16> of[8];
          for (DeviceBuffer<bf16>& x : of) x = DeviceBuffer<bf16>(shape.rows() * HS);
          DeviceBuffer<float> lse(shape.rows());
          DeviceBuffer<std::byte> memory(workspace_bytes(shape));
          launch(shape,
                 {of[0].data(), of[1].data(), of[2].data(), of[3].data(), of[4].data(), lse.data(),
                  of[5].data(), of[6].data(), of[7].data()},
                 workspace_in(memory), nullptr);
        },
        HS);
  }
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
