// Chapter 05: causal self-attention, one kernel after the other, with all of S = Q·Kᵀ in memory.
//
//   qkv    (B, T, 3, NH, HS)   the packed input: what a linear layer gives, C = NH·HS
//   q k v  (B, NH, T, HS)      stage 1 permute
//   preatt (B, NH, T, T)       stage 2 scores       Q·Kᵀ, cuBLAS
//                              stage 3 scale_mask   · 1/√HS; -infinity where a key lies after its
//                                                   query
//   att    (B, NH, T, T)       stage 4 softmax      of each row
//   vaccum (B, NH, T, HS)      stage 5 values       att·V, cuBLAS
//   out    (B, T, C)           stage 6 unpermute
//
// The steps are pipelines. Step 1 runs the six stages; the others do the same with less. What can
// be saved by cutting the queries into strips is in the part strips/.
//
// All tensors are float32, row-major, without gaps, in global memory; outputs overlap no inputs.
// Pointers need no more alignment than a float has. Any sizes >= 0: without elements nothing is
// launched. Indices are 64-bit: B·NH·T·T passes 2^31 at real sizes.
//
// Special values follow PyTorch's torch.softmax(…) @ v: a score of NaN or +infinity gives that
// query NaN; and since a masked weight is 0, and 0·infinity is NaN, an infinite or NaN v spoils the
// queries before it too.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/step.hpp"
#include "common/measure/row_major_blas.hpp"
#include "workspace.hpp"

namespace tutorial::unfused_attention {

/// One problem: batch, sequence length, channels, heads; and how to compute it.
struct Attention {
  int64_t B = 0, T = 0, C = 0, NH = 1;
  bool causal = true;        // key t2 is masked for query t where t2 > t; else nothing is
  bool tf32 = false;         // whether cuBLAS may round the products' inputs to TF32
  int64_t block_size = 256;  // threads of a block in our own kernels: a multiple of 32, up to 1024
  int64_t strip_height = 0;  // queries of a strip, in part strips; 0: by the part's rule

  int64_t HS() const { return NH == 0 ? 0 : C / NH; }  // head size
  int64_t heads() const { return B * NH; }             // heads of the whole batch
  int64_t elements() const { return B * T * C; }       // of q, k, v, vaccum and out, each
  int64_t scores() const { return C == 0 ? 0 : heads() * T * T; }  // of preatt and att, each
  int64_t seen() const { return heads() * (causal ? T * (T + 1) / 2 : T * T); }  // not masked
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(HS())); }
  Precision precision() const { return tf32 ? Precision::tf32 : Precision::fp32; }
};

/// Throws Error, one sentence, unless this can be computed: NH divides C, the block size is right,
/// and cuBLAS's int holds T and B·NH.
void require_supported(const Attention& attention);

// ---- the stages. Each throws CudaError when a launch is refused.

/// Stage 1: splits qkv and moves the heads in front of the sequence.
void permute(const Attention& attention, const float* qkv, float* q, float* k, float* v);
/// Stage 2: preatt = Q·Kᵀ for each head.
void scores(const Attention& attention, const CublasHandle& blas, const float* q, const float* k,
            float* preatt);
/// Stage 3: scales preatt and masks it, in place.
void scale_mask(const Attention& attention, float* preatt);
/// Stage 4: the softmax of each row of preatt.
void softmax(const Attention& attention, const float* preatt, float* att);
/// Stage 5: vaccum = att·V for each head.
void values(const Attention& attention, const CublasHandle& blas, const float* att, const float* v,
            float* vaccum);
/// Stage 6: puts the heads' results side by side again.
void unpermute(const Attention& attention, const float* vaccum, float* out);

// ---- the steps: out (B, T, C) from qkv

using Launcher = void(const Attention& attention, const float* qkv, StageWorkspace& workspace,
                      float* out);
Launcher unfused, fused_softmax, strided, row_in_registers;

/// The kernels of all stages and steps.
Asks<Launcher> kernels_ask;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "unfused",
     .launch = unfused,
     .asked = kernels_ask,
     .idea = "six stages, S and P written and read again"},
    {.name = "fused_softmax",
     .launch = fused_softmax,
     .asked = kernels_ask,
     .idea = "scale, mask and softmax in one kernel"},
    {.name = "strided",
     .launch = strided,
     .asked = kernels_ask,
     .idea = "cuBLAS reads qkv and writes out as they lie"},
    {.name = "row_in_registers",
     .launch = row_in_registers,
     .asked = kernels_ask,
     .idea = "scale in the product; softmax in place, a row read once"},
};

// ---- what steps 2 to 4 bring, for others to use

/// Step 2: stages 3 and 4 in one kernel, from stage 2's preatt.
void scale_mask_softmax(const Attention& attention, const float* preatt, float* att);

/// Queries [first_query, first_query + queries) of every head, and the keys [0, keys) that they are
/// multiplied with. The scores of a strip lie (B·NH, queries, keys), without gaps.
struct Strip {
  int64_t first_query, queries, keys;
};
/// All queries, with all keys.
inline Strip whole(const Attention& attention) {
  return {.first_query = 0, .queries = attention.T, .keys = attention.T};
}

/// Where each head's matrices begin: arrays in global memory, of B·NH pointers each.
struct HeadPointers {
  float **q, **k, **v, **scores, **weights, **out;
};
/// Six arrays, `apart` pointers from one to the next, the first at `first`.
inline HeadPointers six_arrays(float** first, int64_t apart) {
  return {.q = first,
          .k = first + apart,
          .v = first + 2 * apart,
          .scores = first + 3 * apart,
          .weights = first + 4 * apart,
          .out = first + 5 * apart};
}
/// Throws Error for more channels than cuBLAS's int can step over.
void require_strides(const Attention& attention);
/// Step 3: the workspace's pointers, filled in.
HeadPointers locate(const Attention& attention, const float* qkv, StageWorkspace& workspace,
                    float* scores, float* weights, float* out);
/// Step 3: the scores of a strip, times `factor`.
void strided_scores(const Attention& attention, const CublasHandle& blas, const HeadPointers& at,
                    const Strip& strip, float factor);
/// Step 3: the strip's part of out from its weights.
void strided_values(const Attention& attention, const CublasHandle& blas, const HeadPointers& at,
                    const Strip& strip);

/// Step 4: masks the scores of a strip and takes the softmax of each row, in place.
void masked_softmax(const Attention& attention, const Strip& strip, float* scores,
                    cudaStream_t stream = nullptr);
/// So many keys of a row at most fit into a warp's registers there.
inline constexpr int64_t MOST_KEYS_IN_REGISTERS = 1024;
/// What its kernels ask for, of all of these strips.
std::vector<Asked> masked_softmax_asks(const Attention& attention,
                                       const std::vector<Strip>& strips);

// ---- the reference, in double (reference.cpp). `rows` picks the rows to compute, counted over the
// whole output; the bounds are those of float32 kernels, and of TF32 products where attention.tf32.

/// q, then k, then v, each B·NH·T·HS. Moves values only: exact.
Expected permute_reference(const Attention& attention, std::span<const float> qkv);
/// out from vaccum: exact.
Expected unpermute_reference(const Attention& attention, std::span<const float> vaccum);
/// Of B·NH·T rows, T columns: preatt after stage 2.
Expected scores_reference(const Attention& attention, std::span<const float> q,
                          std::span<const float> k, std::span<const int64_t> rows);
/// Likewise: preatt after stage 3, from that before it.
Expected scale_mask_reference(const Attention& attention, std::span<const float> preatt,
                              std::span<const int64_t> rows);
/// Likewise: att from the scaled and masked preatt.
Expected softmax_reference(const Attention& attention, std::span<const float> preatt,
                           std::span<const int64_t> rows);
/// Likewise: att from the raw preatt.
Expected scale_mask_softmax_reference(const Attention& attention, std::span<const float> preatt,
                                      std::span<const int64_t> rows);
/// Of B·NH·T rows, HS columns: vaccum.
Expected values_reference(const Attention& attention, std::span<const float> att,
                          std::span<const float> v, std::span<const int64_t> rows);
/// Of B·NH·queries rows, `keys` columns: the weights of a strip from its scaled scores.
Expected masked_softmax_reference(const Attention& attention, const Strip& strip,
                                  std::span<const float> scores, std::span<const int64_t> rows);
/// Of B·T rows, C columns: out from qkv. Queries in strips of `strip_height` are multiplied with
/// the keys before their strip's end, where there is a mask; else all keys are, as here in all
/// steps.
Expected attention_reference(const Attention& attention, std::span<const float> qkv,
                             std::span<const int64_t> rows, int64_t strip_height = 0);

}  // namespace tutorial::unfused_attention
