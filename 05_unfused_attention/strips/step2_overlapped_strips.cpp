// Step 12 = step 11 + several strips at once, each on a stream: while one strip's last blocks end,
// or its softmax waits for memory, another one's product computes.
//
// On one stream a kernel waits for the last block of the one before, and three kernels a strip wait
// often. Strips do not need each other. So a strip can also be half as high here: less lies above
// the diagonal, and it is the others that fill the GPU.
//
// The scores of a lane have the memory of its strip before: 4·lanes·B·NH·strip·T bytes in all.
#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"

namespace unfused {

using namespace tutorial;

Lane::Lane(Precision precision) : blas(precision) {
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUBLAS_CHECK(cublasSetStream(blas, stream));
}

Lane::~Lane() {
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

void Lane::begin() {
  CUDA_CHECK(cudaEventRecord(event, nullptr));
  CUDA_CHECK(cudaStreamWaitEvent(stream, event));
}

void Lane::end() {
  CUDA_CHECK(cudaEventRecord(event, stream));
  CUDA_CHECK(cudaStreamWaitEvent(nullptr, event));
}

void overlapped_strips(const Attention& a, const float* qkv, Workspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, LOW_STRIPS);
  const Addresses at = locate(a, cut, qkv, w, w.preatt.data(), w.preatt.data(), out);
  while (static_cast<int64_t>(w.lanes.size()) < cut.lanes)
    w.lanes.push_back(std::make_unique<Lane>(a.tf32 ? Precision::tf32 : Precision::fp32));

  for (int64_t i = 0; i < cut.lanes; ++i) w.lanes[i]->begin();
  for (const Piece& piece : pieces(a, cut)) {
    const int64_t i = lane_of(piece.strip, cut.lanes);
    float* const scores = w.preatt.data() + i * cut.group * cut.strip * a.T;
    piece_attention(a, w.lanes[i]->blas, at, piece, scores, w.lanes[i]->stream);
  }
  for (int64_t i = 0; i < cut.lanes; ++i) w.lanes[i]->end();
}

}  // namespace unfused
