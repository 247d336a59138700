// What every step asks global memory for, beside what it says; and that no request to shared memory
// has a bank conflict.
#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

TEST_CASE("fp8 attention: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 64, .causal = false},
           {.Tq = 300, .Tk = 290, .HS = 32},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 135, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 112},
           {.Tq = 260, .Tk = 520, .HS = 128},
           {.Tq = 192, .Tk = 300, .HS = 48}}) {
    CAPTURE(step.name, text(shape));
    const Problem p = normal_problem(shape);
    const Operands in(shape, p.q, p.k, p.v);
    DeviceBuffer<bf16> out(shape.rows() * shape.HS);
    DeviceBuffer<float> lse(shape.rows());
    DeviceBuffer<std::byte> memory(workspace_bytes(shape));
    check_no_conflicts(check_asked_for(step, [&](auto run) {
      return run(shape, in.q.values.data(), in.k.values.data(), in.v.values.data(), in.on_device(),
                 out.data(), lse.data(), workspace_in(memory), nullptr);
    }));
  }
}

TEST_CASE("fp8 attention: tiles are as large as the page says") {
  const auto of = [](Launcher* step, int64_t Tq, int64_t HS) {
    const TileSizes sizes = tile_sizes(step, {.Tq = Tq, .HS = HS});
    return std::pair(sizes.queries, sizes.keys);
  };
  CHECK(of(transposed_as_loaded, 4096, 64) == std::pair(128, 128));
  CHECK(of(third_consumer, 4096, 64) == std::pair(192, 128));
  CHECK(of(third_consumer, 1024, 64) == std::pair(128, 128));  // 8 tiles, or 5⅓
  CHECK(of(third_consumer, 4096, 80) == std::pair(128, 128));
  CHECK(of(wide_tiles, 4096, 64) == std::pair(192, 128));
  CHECK(of(wide_tiles, 4096, 80) == std::pair(128, 192));
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
