// Step 2 = step 1 + several strips at once, each on a stream: while one strip's last blocks end, or
// its softmax waits for memory, another one's product computes.
//
// On one stream a kernel waits for the last block of the one before, and three kernels a strip wait
// often. Strips do not need each other. So a strip can also be half as high here: less lies above
// the diagonal, and it is the others that fill the GPU.
//
// The scores of a stream have the memory of its strip before: 4·streams·B·NH·height·T bytes in all.
#include "common/kernel/check.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {

StripStream::StripStream(Precision precision) : blas(precision) {
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUBLAS_CHECK(cublasSetStream(blas, stream));
}

StripStream::~StripStream() {
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

void StripStream::begin() {
  CUDA_CHECK(cudaEventRecord(event, nullptr));
  CUDA_CHECK(cudaStreamWaitEvent(stream, event));
}

void StripStream::end() {
  CUDA_CHECK(cudaEventRecord(event, stream));
  CUDA_CHECK(cudaStreamWaitEvent(nullptr, event));
}

void overlapped_strips(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  require_strides(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, MOST_STREAMS);
  const std::vector<Strip> strips = strips_of(a, cut);
  const std::vector<HeadPointers> at = locate_strips(a, cut, qkv, w, out);
  auto& streams = resources(w).streams;
  while (static_cast<int64_t>(streams.size()) < cut.streams)
    streams.push_back(std::make_unique<StripStream>(a.precision()));

  for (int64_t s = 0; s < cut.streams; ++s) streams[s]->begin();
  for (size_t i = 0; i < strips.size(); ++i) {
    const int64_t s = stream_of(i, cut.streams);
    const StripStream& on = *streams[s];
    strided_scores(a, on.blas, at[i], strips[i], a.scale());
    masked_softmax(a, strips[i], w.preatt.data() + scores_of(a, cut, s), on.stream);
    strided_values(a, on.blas, at[i], strips[i]);
  }
  for (int64_t s = 0; s < cut.streams; ++s) streams[s]->end();
}

}  // namespace tutorial::unfused_attention::strips
