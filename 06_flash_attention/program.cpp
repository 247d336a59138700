// Beside the steps: chapter 05, whose kernels have all of S and P in memory.
#include "chapter_05_rows.hpp"

#include <algorithm>

#include "common/data/device_buffer.hpp"
#include "strips/strips.hpp"

namespace tutorial::flash_attention {
namespace {

unfused_attention::Attention as_chapter_05(const Attention& shape) {
  return {.B = shape.B,
          .T = shape.Tq,
          .C = shape.NH * shape.HS,
          .NH = shape.NH,
          .causal = shape.causal};
}

/// k or v with one copy for each query head, since chapter 05 knows no groups: (B, NH, Tk, HS).
std::vector<float> for_each_head(const Attention& shape, const std::vector<float>& values) {
  const int64_t head = shape.Tk * shape.HS;
  std::vector<float> all(shape.B * shape.NH * head);
  for (int64_t h = 0; h < shape.B * shape.NH; ++h)
    std::copy_n(values.begin() + h / shape.group() * head, head, all.begin() + h * head);
  return all;
}

/// Calls move(place in (B, NH, T, HS), place in (B, T, slots, NH, HS)) for each row of HS floats.
template <class Move>
void for_each_row(const Attention& shape, int64_t slot, int64_t slots, const Move& move) {
  const int64_t NH = shape.NH, T = shape.Tq, HS = shape.HS;
  for (int64_t b = 0; b < shape.B; ++b)
    for (int64_t h = 0; h < NH; ++h)
      for (int64_t t = 0; t < T; ++t)
        move(((b * NH + h) * T + t) * HS, (((b * T + t) * slots + slot) * NH + h) * HS);
}

/// Chapter 05's input, (B, T, 3, NH, HS), from q, k, v with the heads in front, (B, NH, T, HS).
std::vector<float> packed(const Attention& shape, const std::vector<float>& q,
                          const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<float> qkv(3 * q.size());
  int64_t slot = 0;
  for (const std::vector<float>* part : {&q, &k, &v})
    for_each_row(shape, slot++, 3, [&](int64_t from, int64_t to) {
      std::copy_n(part->begin() + from, shape.HS, qkv.begin() + to);
    });
  return qkv;
}

/// Chapter 05's output, (B, T, C), with the heads in front.
std::vector<float> heads_in_front(const Attention& shape, std::span<const float> out) {
  std::vector<float> moved(out.size());
  for_each_row(shape, 0, 1, [&](int64_t to, int64_t from) {
    std::copy_n(out.begin() + from, shape.HS, moved.begin() + to);
  });
  return moved;
}

}  // namespace

double chapter_05_bytes(const Attention& shape) {
  return 8.0 * shape.B * shape.NH * shape.Tq * shape.Tk;
}

std::string why_no_chapter_05(const Attention& shape) {
  if (shape.Tq != shape.Tk) return "it needs as many keys as queries";
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (2 * chapter_05_bytes(shape) > static_cast<double>(free))  // leave room for all else
    return "its S and P need " + with_prefix(chapter_05_bytes(shape), "B") + ", of " +
           with_prefix(static_cast<double>(free), "B") + " that are free";
  return "";
}

void run_chapter_05(Chapter& chapter, const Attention& shape, Input& input_q, Input& input_k,
                    Input& input_v, const Check& check) {
  namespace unfused = unfused_attention;
  const unfused::Attention same = as_chapter_05(shape);
  unfused::require_supported(same);
  const std::vector<float> all_k = for_each_head(shape, input_k.host());
  const std::vector<float> all_v = for_each_head(shape, input_v.host());
  const DeviceBuffer<float> qkv(packed(shape, input_q.host(), all_k, all_v));
  unfused::Workspace workspace(same);

  chapter.vendor(
      {.name = "chapter 05",
       .launch =
           [&](float* out) {
             unfused::strips::overlapped_strips(same, qkv.data(), workspace, out);
           },
       .check = [&](std::span<const float> got,
                    const Layout& layout) { return check(heads_in_front(shape, got), layout); }});

  // Its stages, less the permutations: q, k, v and out have the heads in front already.
  const float* q = input_q.device();
  const DeviceBuffer<float> k(all_k), v(all_v);
  float* const S = workspace.preatt.data();  // (B, NH, T, T)
  float* const P = workspace.att.data();     // (B, NH, T, T)
  chapter.vendor("05, not fused", [&](float* out) {
    unfused::scores(same, workspace.blas, q, k.data(), S);
    unfused::scale_mask(same, S);
    unfused::softmax(same, S, P);
    unfused::values(same, workspace.blas, P, v.data(), out);
  });
}

}  // namespace tutorial::flash_attention
