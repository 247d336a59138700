// 06/hopper: what the launcher of step 9 costs, and with maps that are made once. The step's file
// is included for its kernel, which no header names.
#include "common/data/device_buffer.hpp"
#include "hopper/step9_tile_stores.cu"
#include "launch_costs.hpp"

namespace tutorial {
namespace flash_attention::hopper {
namespace {

constexpr int D = 128;

/// What step 9 works out anew for each launch; the counter of tickets is set to 0 for each.
struct PreparedAttention {
  Attention shape;
  Schedule schedule;
  CUtensorMap q, k, v, out;
  float* lse;
  unsigned blocks;

  PreparedAttention(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                    float* lse, Workspace workspace)
      : shape(s),
        schedule(schedule_of(s, Br)),
        q(queries_map(s, q, Br)),
        k(keys_map(s, k, Bc, q)),
        v(keys_map(s, v, Bc, q)),
        out(queries_map(s, out, ROWS)),
        lse(lse),
        blocks(blocks_that_stay(schedule.tickets())) {
    schedule.next_ticket = counter_from_0(s, "tile_stores", workspace, nullptr);
    tutorial::allow_shared_memory(tile_stores_kernel<D>, aligned_bytes<Shared<D>>);
  }

  void launch(cudaStream_t stream) const {
    CUDA_CHECK(cudaMemsetAsync(schedule.next_ticket, 0, sizeof *schedule.next_ticket, stream));
    tile_stores_kernel<D><<<blocks, THREADS, aligned_bytes<Shared<D>>, stream>>>(
        shape, schedule, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  }
};

}  // namespace
}  // namespace flash_attention::hopper

void attention_costs() {
  using namespace flash_attention::hopper;
  const char* const size = "06/hopper tile_stores, 1×8×512×128";
  const flash_attention::Attention shape{
      .B = 1, .NH = 8, .NH_kv = 8, .Tq = 512, .Tk = 512, .HS = D};
  DeviceBuffer<bf16> q(8 * 512 * D), k(8 * 512 * D), v(8 * 512 * D), out(8 * 512 * D);
  DeviceBuffer<float> lse(8 * 512);
  DeviceBuffer<unsigned long long> counter(2);  // a workspace is a multiple of 16 bytes
  const Workspace workspace{counter.data(), workspace_bytes(shape)};
  const PreparedAttention prepared(shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                   workspace);
  print_cost(size, "the launcher", microseconds([&] {
               tile_stores(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace,
                           nullptr);
             }));
  print_cost(size, "its four maps alone", microseconds([&] {
               volatile auto used = queries_map(shape, q.data(), Br).opaque[0] +
                                    keys_map(shape, k.data(), Bc, q.data()).opaque[0] +
                                    keys_map(shape, v.data(), Bc, q.data()).opaque[0] +
                                    queries_map(shape, out.data(), ROWS).opaque[0];
               (void)used;
             }));
  print_cost(size, "its counter set to 0", microseconds([&] {
               CUDA_CHECK(cudaMemsetAsync(counter.data(), 0, sizeof(unsigned long long), nullptr));
             }));
  print_cost(size, "with maps made once", microseconds([&] { prepared.launch(nullptr); }));
}

}  // namespace tutorial
