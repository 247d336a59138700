// The CPU reference: the mask in words, and the list of blocks. (The product's is the chapter's.)
#include "block_lists/block_lists.hpp"

namespace tutorial::masked_bmm::block_lists {

std::vector<uint64_t> mask_words_reference(const Mask& mask, int64_t M, int64_t N) {
  const int64_t down = ceil_div(M, PATCH), across = ceil_div(N, PATCH);
  const int64_t masks = M * N == 0 ? 0 : static_cast<int64_t>(mask.keep.size()) / (M * N);
  std::vector<uint64_t> words(masks * down * across);
  for (int64_t m = 0, e = 0; m < masks; ++m)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j, ++e)
        if (mask.keep[e] != 0)
          words[(m * down + i / PATCH) * across + j / PATCH] |= uint64_t{1}
                                                                << (i % PATCH * PATCH + j % PATCH);
  return words;
}

std::vector<ListedBlock> block_list_reference(const Mask& mask, int64_t M, int64_t N) {
  const std::vector<Kept> states = coarse_mask_reference(mask, M, N, BLOCK);
  const int64_t down = ceil_div(M, BLOCK), across = ceil_div(N, BLOCK);
  const auto count = static_cast<int64_t>(states.size());
  std::vector<ListedBlock> live, masked;
  for (int64_t b = 0; b < count; ++b)
    (states[b] == Kept::none ? masked : live)
        .push_back({static_cast<int32_t>(b / (down * across)),
                    static_cast<int32_t>(b / across % down), static_cast<int32_t>(b % across),
                    static_cast<int32_t>(states[b])});
  // At each place: a live block, if no more than their share stand before it.
  std::vector<ListedBlock> list;
  size_t lives = 0, others = 0;
  for (int64_t place = 0; place < count; ++place) {
    const bool is_live =
        lives < live.size() &&
        static_cast<int64_t>(lives) * count / static_cast<int64_t>(live.size()) == place;
    list.push_back(is_live ? live[lives++] : masked[others++]);
  }
  return list;
}

}  // namespace tutorial::masked_bmm::block_lists
