// What is built from a mask asks global memory for so much.
#include "block_lists/block_lists.hpp"

namespace tutorial::masked_bmm::block_lists {

std::vector<Asked> mask_words_and_list_ask(const MaskedBmm& p) {
  const int64_t masks = p.masks(), M = p.M, N = p.N;
  return {{.kernel = "mask_words_kernel",
           .loads = masks * M * N,
           .stores =
               masks * (8 * ceil_div(M, 8) * ceil_div(N, 8) + ceil_div(M, 128) * ceil_div(N, 128))},
          {.kernel = "list_blocks",
           .loads = 2 * masks * ceil_div(M, 128) * ceil_div(N, 128),
           .stores = 16 * masks * ceil_div(M, 128) * ceil_div(N, 128)}};
}

}  // namespace tutorial::masked_bmm::block_lists
