// Chapter 05: causal self-attention, one kernel after the other, with all of S = Q·Kᵀ in memory.
//
//   qkv    (B, T, 3, NH, HS)   the packed input: what a linear layer gives, C = NH·HS
//   q k v  (B, NH, T, HS)      1 permute
//   preatt (B, NH, T, T)       2 scores       Q·Kᵀ, cuBLAS
//                              3 scale_mask   · 1/√HS; -infinity where a key lies after its query
//   att    (B, NH, T, T)       4 softmax      of each row
//   vaccum (B, NH, T, HS)      5 values       att·V, cuBLAS
//   out    (B, T, C)           6 unpermute
//
// Step 7 does 3 and 4 in one kernel. All tensors are float32, row-major, without gaps, in device
// memory; outputs overlap no inputs. Pointers need no more alignment than a float has. Any sizes >=
// 0: without elements nothing is launched. Indices are 64-bit: B·NH·T·T passes 2^31 at real sizes.
//
// Special values follow PyTorch's torch.softmax(…) @ v: a score of NaN or +infinity gives that
// query NaN; and since a masked weight is 0, and 0·infinity is NaN, an infinite v spoils earlier
// queries too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare.hpp"
#include "common/device_buffer.hpp"
#include "common/row_major_blas.hpp"
#include "common/step.hpp"

namespace unfused {

/// One problem: batch, sequence length, channels, heads; and how to compute it.
struct Attention {
  int64_t B = 0, T = 0, C = 0, NH = 1;
  bool causal = true;    // key t2 is masked for query t where t2 > t; else nothing is
  bool tf32 = false;     // whether cuBLAS may round the products' inputs to TF32
  int block_size = 256;  // threads of a block in our own kernels: a multiple of 32, up to 1024

  int64_t HS() const { return NH == 0 ? 0 : C / NH; }  // head size
  int64_t heads() const { return B * NH; }             // heads of the whole batch
  int64_t elements() const { return B * T * C; }       // of q, k, v, vaccum and out, each
  int64_t scores() const { return C == 0 ? 0 : heads() * T * T; }  // of preatt and att, each
};

/// Throws Error, one sentence, unless this can be computed: NH divides C, the block size is right,
/// and cuBLAS's int holds T and B·NH.
void require_supported(const Attention& attention);

/// What the stages leave for each other, and cuBLAS's handle. Allocates workspace_bytes().
struct Workspace {
  explicit Workspace(const Attention& attention);

  tutorial::CublasHandle blas;
  tutorial::DeviceBuffer<float> q, k, v;      // B·T·C each
  tutorial::DeviceBuffer<float> preatt, att;  // B·NH·T·T each
  tutorial::DeviceBuffer<float> vaccum;       // B·T·C
};
/// 4·(4·B·T·C + 2·B·NH·T·T) bytes. Not an integer, because a problem that is far too large has to
/// be refused with its size.
double workspace_bytes(const Attention& attention);

// ---- the stages, one file each. Each throws CudaError when a launch is refused.

/// Step 1: splits qkv and moves the heads in front of the sequence.
void permute(const Attention& attention, const float* qkv, float* q, float* k, float* v);
/// Step 2: preatt = Q·Kᵀ for each head.
void scores(const Attention& attention, const tutorial::CublasHandle& blas, const float* q,
            const float* k, float* preatt);
/// Step 3: scales preatt and masks it, in place.
void scale_mask(const Attention& attention, float* preatt);
/// Step 4: the softmax of each row of preatt.
void softmax(const Attention& attention, const float* preatt, float* att);
/// Step 5: vaccum = att·V for each head.
void values(const Attention& attention, const tutorial::CublasHandle& blas, const float* att,
            const float* v, float* vaccum);
/// Step 6: puts the heads' results side by side again.
void unpermute(const Attention& attention, const float* vaccum, float* out);
/// Step 7: steps 3 and 4 in one kernel, from step 2's preatt.
void scale_mask_softmax(const Attention& attention, const float* preatt, float* att);

// ---- the pipelines: out from qkv

using Launcher = void(const Attention& attention, const float* qkv, Workspace& workspace,
                      float* out);
#define UNFUSED_STEPS(STEP)                                   \
  STEP(unfused, "six stages, S and P written and read again") \
  STEP(fused_softmax, "scale, mask and softmax in one kernel")
TUTORIAL_STEPS(Launcher, UNFUSED_STEPS)

// ---- the reference, in double (reference.cpp). `rows` picks the rows to compute, counted over the
// whole output; the bounds are those of float32 kernels, and of TF32 products where attention.tf32.

/// q, then k, then v, each B·NH·T·HS. Moves values only: exact.
std::vector<float> permute_reference(const Attention& attention, std::span<const float> qkv);
/// out from vaccum: exact.
std::vector<float> unpermute_reference(const Attention& attention, std::span<const float> vaccum);
/// Of B·NH·T rows, T columns: preatt after step 2.
tutorial::Expected scores_reference(const Attention& attention, std::span<const float> q,
                                    std::span<const float> k, std::span<const int64_t> rows);
/// Likewise: preatt after step 3, from that before it.
tutorial::Expected scale_mask_reference(const Attention& attention, std::span<const float> preatt,
                                        std::span<const int64_t> rows);
/// Likewise: att from the scaled and masked preatt.
tutorial::Expected softmax_reference(const Attention& attention, std::span<const float> preatt,
                                     std::span<const int64_t> rows);
/// Likewise: att from the raw preatt.
tutorial::Expected scale_mask_softmax_reference(const Attention& attention,
                                                std::span<const float> preatt,
                                                std::span<const int64_t> rows);
/// Of B·NH·T rows, HS columns: vaccum.
tutorial::Expected values_reference(const Attention& attention, std::span<const float> att,
                                    std::span<const float> v, std::span<const int64_t> rows);
/// Of B·T rows, C columns: out from qkv.
tutorial::Expected attention_reference(const Attention& attention, std::span<const float> qkv,
                                       std::span<const int64_t> rows);

}  // namespace unfused
