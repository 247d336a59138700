// Blocks that write the same numbers one after the other.
#include "common/kernel/turns.cuh"
#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

/// Block b, by the order in which they begin, makes b + 1 more than three times what was there.
/// With another order, or with numbers of an earlier turn, something else comes out.
__global__ void triple_in_turn(unsigned* numbers, int count, unsigned* turn, unsigned* ticket) {
  __shared__ unsigned block;
  if (threadIdx.x == 0) {
    block = atomicAdd(ticket, 1u);
    while (turn_of(turn) != block) {
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    numbers[i] = 3 * numbers[i] + block + 1 + static_cast<unsigned>(i);
  __syncthreads();
  if (threadIdx.x == 0) next_turn(turn);
}

}  // namespace

TEST_CASE("turns: each block sees what those before it wrote") {
  for (const int count : {1, 100, 5000})
    for (const int blocks : {1, 2, 40}) {
      INFO(count << " numbers, " << blocks << " blocks");
      DeviceBuffer<unsigned> numbers(std::vector<unsigned>(static_cast<size_t>(count), 7));
      DeviceBuffer<unsigned> turn(std::vector<unsigned>{0}), ticket(std::vector<unsigned>{0});
      triple_in_turn<<<static_cast<unsigned>(blocks), 96>>>(numbers.data(), count, turn.data(),
                                                            ticket.data());
      CUDA_CHECK_LAUNCH();
      const std::vector<unsigned> got = numbers.to_host();
      int wrong = 0;
      for (int i = 0; i < count; ++i) {
        unsigned want = 7;
        for (int block = 0; block < blocks; ++block)
          want = 3 * want + static_cast<unsigned>(block + 1 + i);
        wrong += got[static_cast<size_t>(i)] != want;
      }
      CHECK(wrong == 0);
      CHECK(turn.to_host().front() == static_cast<unsigned>(blocks));
    }
}
