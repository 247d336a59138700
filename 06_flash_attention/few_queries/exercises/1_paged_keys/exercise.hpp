#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int HS = 64;    // head size
inline constexpr int PAGE = 16;  // keys, or values, of a page

/// Attention of one query a sequence: out[i] = Σ_j p_j · v_j, where p is the softmax of the scores
/// q[i]·k_j / √HS over the lengths[i] keys of sequence i; zeros where it has none. k and v are
/// pools of pages, each PAGE × HS, and may have more than 2³¹ elements. Key j of sequence i is row
/// j % PAGE of page number table[i][j / PAGE] of k, and its value is the same row of v. Nobody
/// wrote the rows behind a sequence's last key, nor the entries behind its last page in its row of
/// the table, which has room for `most`. q and out are sequences × HS, table is sequences × most;
/// all in global memory, row-major, floats are float32. Any number of sequences, also 0.
void paged_attention(const float* q, const float* k, const float* v, const int* table,
                     const int64_t* lengths, float* out, int64_t sequences, int64_t most);

}  // namespace tutorial::exercise
