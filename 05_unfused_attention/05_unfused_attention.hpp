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
// Step 7 does 3 and 4 in one kernel. Steps 8 to 12 read q, k and v where they lie in qkv and write
// into out, so that 1 and 6 are gone; the scores' memory then holds the weights too. All tensors
// are float32, row-major, without gaps, in device memory; outputs overlap no inputs. Pointers need
// no more alignment than a float has. Any sizes >= 0: without elements nothing is launched. Indices
// are 64-bit: B·NH·T·T passes 2^31 at real sizes.
//
// Special values follow PyTorch's torch.softmax(…) @ v: a score of NaN or +infinity gives that
// query NaN; and since a masked weight is 0, and 0·infinity is NaN, an infinite or NaN v spoils
// earlier queries too. Which ones: all of them where the weights of all keys are multiplied (steps
// 1 to 10, unfused to head_groups); those of the same strip and of later ones in causal_strips and
// overlapped_strips, where a query in strip s is multiplied with the keys before the end of strip s
// and with no other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/step.hpp"
#include "common/measure/row_major_blas.hpp"

namespace unfused {

/// One problem: batch, sequence length, channels, heads; and how to compute it.
struct Attention {
  int64_t B = 0, T = 0, C = 0, NH = 1;
  bool causal = true;    // key t2 is masked for query t where t2 > t; else nothing is
  bool tf32 = false;     // whether cuBLAS may round the products' inputs to TF32
  int block_size = 256;  // threads of a block in our own kernels: a multiple of 32, up to 1024
  int64_t group = 0;     // heads of a group in head_groups; 0: by cut_of()'s rule
  int64_t strip = 0;     // queries of a strip in the steps that have strips; 0: by the same

  int64_t HS() const { return NH == 0 ? 0 : C / NH; }  // head size
  int64_t heads() const { return B * NH; }             // heads of the whole batch
  int64_t elements() const { return B * T * C; }       // of q, k, v, vaccum and out, each
  int64_t scores() const { return C == 0 ? 0 : heads() * T * T; }  // of preatt and att, each
};

/// Throws Error, one sentence, unless this can be computed: NH divides C, the block size is right,
/// and cuBLAS's int holds T and B·NH.
void require_supported(const Attention& attention);

/// A stream with a cuBLAS handle of its own: what is put on one lane waits for nothing on another.
struct Lane {
  explicit Lane(tutorial::Precision precision);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  void begin();  // what follows on this lane waits for what the default stream was given so far
  void end();    // what follows on the default stream waits for this lane

  tutorial::CublasHandle blas;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
};

/// What the stages leave for each other, and cuBLAS's handle. Allocates workspace_bytes().
struct Workspace {
  explicit Workspace(const Attention& attention);

  tutorial::CublasHandle blas;
  tutorial::DeviceBuffer<float> q, k, v;      // B·T·C each
  tutorial::DeviceBuffer<float> preatt, att;  // B·NH·T·T each
  tutorial::DeviceBuffer<float> vaccum;       // B·T·C
  tutorial::DeviceBuffer<float*> addresses;   // 6·B·NH for each strip: step 8's
  std::vector<std::unique_ptr<Lane>> lanes;   // made by the first call that needs them
};
/// 4·(4·B·T·C + 2·B·NH·T·T) bytes and the addresses, 48·B·NH a strip. Not an integer, because a
/// problem that is far too large has to be refused with its size.
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

// ---- steps 8 to 12: the work is cut into pieces, and each piece's products are one call

/// How a pipeline cuts the work; its `features` in the list of steps.
enum Cutting : unsigned { WHOLE, HEAD_GROUPS, STRIPS, LOW_STRIPS };

struct Cut {
  int64_t group = 0;  // heads of a piece; the last group may have fewer
  int64_t strip = 0;  // queries of a piece; the last strip may have fewer
  int64_t lanes = 1;  // pieces under way at once
};
/// The rules (pieces.cu):
///   WHOLE        one piece
///   HEAD_GROUPS  as many heads as have their scores, 4·T·T bytes each, in half of the L2 cache;
///                at least 1
///   STRIPS       all heads; strips of 128 rows or a multiple, so high that a piece has 24576 rows
///                or more: cuBLAS computes tiles of about 128×128, and so many keep a GPU busy
///   LOW_STRIPS   the same with 12288 rows, in up to 4 lanes, which keep it busy together
/// Without a mask nothing lies above a diagonal, and there is one strip.
Cut cut_of(const Attention& attention, unsigned cutting);

/// Queries [first_query, first_query + queries) of heads [first_head, first_head + heads), and the
/// keys [0, keys) that they are multiplied with. Its scores lie (heads, queries, keys), no gaps.
struct Piece {
  int64_t strip, first_head, heads, first_query, queries, keys;
  int64_t scores() const { return heads * queries * keys; }
};
/// All of them: the first strip's groups, then the second's, …
std::vector<Piece> pieces(const Attention& attention, const Cut& cut);

/// The lane that a strip is on: 0 1 2 3, then 3 2 1 0, and so on, since later strips have more
/// keys.
__host__ __device__ inline int64_t lane_of(int64_t strip, int64_t lanes) {
  const int64_t place = strip % lanes;
  return strip / lanes % 2 == 0 ? place : lanes - 1 - place;
}

/// The keys that `query` is multiplied with: those before its strip's end, or all.
int64_t multiplied_keys(const Attention& attention, int64_t query, unsigned cutting);

/// Where the matrices of each head lie, for each strip: arrays in device memory, of B·NH pointers a
/// strip.
struct Addresses {
  float **q, **k, **v, **scores, **weights, **out;
};
/// Step 8: fills the workspace's. A piece's scores and weights begin at `scores` and `weights`, but
/// those on lane i begin i·group·strip·T later. Throws Error for more channels than
/// cuBLAS's int can step over.
Addresses locate(const Attention& attention, const Cut& cut, const float* qkv, Workspace& workspace,
                 float* scores, float* weights, float* out);
/// Step 8: the scores of a piece, times `factor`.
void piece_scores(const Attention& attention, const tutorial::CublasHandle& blas,
                  const Addresses& addresses, const Piece& piece, float factor);
/// Step 8: out's part from the weights of a piece.
void piece_values(const Attention& attention, const tutorial::CublasHandle& blas,
                  const Addresses& addresses, const Piece& piece);
/// Step 9: masks the scores of a piece and takes the softmax of each row, in place.
void masked_softmax(const Attention& attention, const Piece& piece, float* scores,
                    cudaStream_t stream = nullptr);
/// Step 9: all three for one piece. `scores` is where its scores are.
void piece_attention(const Attention& attention, const tutorial::CublasHandle& blas,
                     const Addresses& addresses, const Piece& piece, float* scores,
                     cudaStream_t stream = nullptr);

// ---- the pipelines: out from qkv

using Launcher = void(const Attention& attention, const float* qkv, Workspace& workspace,
                      float* out);
Launcher unfused, fused_softmax, strided, row_in_registers, head_groups, causal_strips,
    overlapped_strips;

inline const std::vector<tutorial::Step<Launcher>> steps = {
    {.name = "unfused", .launch = unfused, .idea = "six stages, S and P written and read again"},
    {.name = "fused_softmax",
     .launch = fused_softmax,
     .idea = "scale, mask and softmax in one kernel"},
    {.name = "strided", .launch = strided, .idea = "cuBLAS reads qkv and writes out as they lie"},
    {.name = "row_in_registers",
     .launch = row_in_registers,
     .idea = "scale in the product; softmax in place, a row read once"},
    {.name = "head_groups",
     .launch = head_groups,
     .idea = "a few heads at a time, in the L2 cache",
     .features = HEAD_GROUPS},
    {.name = "causal_strips",
     .launch = causal_strips,
     .idea = "strips of queries, with the keys that they can see",
     .features = STRIPS},
    {.name = "overlapped_strips",
     .launch = overlapped_strips,
     .idea = "four strips at once, each on a stream",
     .features = LOW_STRIPS},
};

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
/// Of heads·queries rows, `keys` columns: the weights of a piece from its scaled scores.
tutorial::Expected masked_softmax_reference(const Attention& attention, const Piece& piece,
                                            std::span<const float> scores,
                                            std::span<const int64_t> rows);
/// Of B·T rows, C columns: out from qkv. `cutting` says which keys a query is multiplied with.
tutorial::Expected attention_reference(const Attention& attention, std::span<const float> qkv,
                                       std::span<const int64_t> rows, unsigned cutting = WHOLE);

}  // namespace unfused
