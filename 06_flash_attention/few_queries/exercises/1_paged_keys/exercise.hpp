#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int HS = 64;    // head size
inline constexpr int PAGE = 16;  // keys, or values, of a page

/// Attention of one query a sequence: out[s] = Σ_j p_j · v_j, where p is the softmax of the scores
/// q[s]·k_j / √HS over the lengths[s] keys of sequence s; zeros where it has none. K and V of all
/// sequences lie in the pages of two pools, k and v, each pages × PAGE × HS: key j of sequence s is
/// row j % PAGE of page number table[s][j / PAGE], and its value the same row of v's page. What a
/// sequence's last page has after its last key was never written, and neither were the entries of
/// its row of the table after that page. q and out are sequences × HS, table is sequences × most;
/// all in global memory, row-major, floats are float32. Any number of sequences, also 0.
void paged_attention(const float* q, const float* k, const float* v, const int* table,
                     const int64_t* lengths, float* out, int64_t sequences, int64_t most);

}  // namespace tutorial::exercise
