// Where the matrices of each head begin, for each strip: the pointers of the chapter's step 3, with
// the strip's first query in place of the sequence's.
//
// FLOP            none
// global memory   48 bytes a head and strip
// asked for       loads 0 bytes, stores 48·B·NH·strips bytes: 6 pointers a head
// shared memory   none
// block           block_size threads, the matrices of one head and strip each
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {
namespace {

// (b, nh) of a head, and from there the places in qkv[b][t][which][nh][0] and out[b][t][nh][0].
__global__ void locate_strips_kernel(HeadPointers to, const float* qkv, float* scores, float* out,
                                     Cut cut, int64_t count, int64_t heads, int64_t T, int64_t C,
                                     int64_t NH) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t strip = i / heads, head = i % heads;
  const int64_t b = head / NH, channel = head % NH * (C / NH);
  const int64_t query = strip * cut.height;
  const int64_t end = query + cut.height < T ? query + cut.height : T;

  float* const token = const_cast<float*>(qkv) + b * T * 3 * C + channel;
  to.q[i] = token + query * 3 * C;
  to.k[i] = token + C;
  to.v[i] = token + 2 * C;
  to.out[i] = out + (b * T + query) * C + channel;

  // Strips that are not under way at the same time share the memory of their scores.
  const int64_t place =
      stream_of(strip, cut.streams) * heads * cut.height * T + head * (end - query) * end;
  to.scores[i] = scores + place;
  to.weights[i] = scores + place;
}

}  // namespace

Resources& resources(StageWorkspace& w) {
  if (!w.for_strips) w.for_strips = std::make_shared<Resources>();
  return *w.for_strips;
}

std::vector<HeadPointers> locate_strips(const Attention& a, const Cut& cut, const float* qkv,
                                        StageWorkspace& w, float* out) {
  const int64_t strips = ceil_div(a.T, cut.height), n = a.heads() * strips;
  DeviceBuffer<float*>& pointers = resources(w).pointers;
  if (pointers.size() < 6 * n) pointers = DeviceBuffer<float*>(6 * n);
  float** const first = pointers.data();  // the strips one after the other in each of six arrays
  locate_strips_kernel<<<ceil_div(n, a.block_size), a.block_size>>>(
      six_arrays(first, n), qkv, w.preatt.data(), out, cut, n, a.heads(), a.T, a.C, a.NH);
  CUDA_CHECK_LAUNCH();

  std::vector<HeadPointers> each;
  for (int64_t i = 0; i < n; i += a.heads()) each.push_back(six_arrays(first + i, n));
  return each;
}

}  // namespace tutorial::unfused_attention::strips
