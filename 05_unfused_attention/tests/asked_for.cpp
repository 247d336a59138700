// What the kernels ask global memory for, beside the formulas in their headers.
#include "common/testing/asked_for.hpp"

#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

TEST_CASE("every step's kernels ask for what their headers say", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape :
       std::vector<Attention>{{.B = 2, .T = 45, .C = 10, .NH = 2, .block_size = 32},
                              {.B = 1, .T = 64, .C = 16, .NH = 4, .block_size = 256},
                              {.B = 1, .T = 1030, .C = 1, .NH = 1, .block_size = 256}}) {
    for (const bool causal : {true, false}) {
      // Rows of so many keys are softmax_again's.
      if (shape.T > 1000 && (step.launch != &row_in_registers || !causal)) continue;
      Attention a = shape;
      a.causal = causal;
      CAPTURE(step.name, a.T, a.causal);
      const DeviceBuffer<float> qkv(values_for(a));
      DeviceBuffer<float> out(a.elements());
      StageWorkspace workspace(a);
      // "up to 12 a row more, where rows are read 16 bytes at a time"
      const bool wide = step.launch == &row_in_registers && a.T % 4 == 0;
      // A page's pointers have 4 bytes.
      const int64_t narrow = (48 - int64_t{sizeof(HeadPointers)}) * a.heads();
      check_asked_for(step, [&](auto run) { return run(a, qkv.data(), workspace, out.data()); },
                      {.more = wide ? 12 * a.heads() * a.T : 0}, {.less = narrow, .more = narrow});
    }
  }
}

// "Neighbouring threads write neighbours, and read neighbours too within a head."
TEST_CASE("permute and unpermute touch no sector in vain where heads fill sectors", "[counts]") {
  for (const int64_t HS : {8, 24, 64})
    for (const int64_t block_size : {32, 256}) {
      const Attention a = {.B = 2, .T = 5, .C = 3 * HS, .NH = 3, .block_size = block_size};
      CAPTURE(HS, block_size);
      const int64_t n = a.elements();
      const DeviceBuffer<float> qkv(values_for(a)), vaccum(values_for(a));
      DeviceBuffer<float> q(n), k(n), v(n), out(n);
      const auto check = [](const std::function<void()>& launch) {
        if (device_has_clock()) SKIP("only the simulator counts sectors");
        const Counts counts = counts_of(launch);
        CHECK(32 * counts.loads.sectors == counts.loads.bytes);
        check_stores_fill_sectors(counts);
      };
      check([&] { permute(a, qkv.data(), q.data(), k.data(), v.data()); });
      check([&] { unpermute(a, vaccum.data(), out.data()); });
    }
}

}  // namespace
}  // namespace tutorial::unfused_attention
