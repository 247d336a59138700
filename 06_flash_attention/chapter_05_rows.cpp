// Chapter 05's kernels have all of S and P in memory, and know neither groups nor fewer queries
// than keys.
#include "chapter_05_rows.hpp"

#include <algorithm>

#include "common/data/text.hpp"
#include "common/kernel/check.hpp"
#include "strips/strips.hpp"

namespace tutorial::flash_attention {

namespace unfused = unfused_attention;

namespace {

unfused::Attention as_chapter_05(const Attention& shape) {
  const unfused::Attention same = {.B = shape.B,
                                   .T = shape.Tq,
                                   .C = shape.NH * shape.HS,
                                   .NH = shape.NH,
                                   .causal = shape.causal};
  unfused::require_supported(same);
  return same;
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

Chapter05::Chapter05(const Attention& shape, const Options& options)
    : same_(as_chapter_05(shape)), workspace_(same_), q_(options.input("q").device()) {
  const std::vector<float> k = for_each_head(shape, options.input("k").host());
  const std::vector<float> v = for_each_head(shape, options.input("v").host());
  k_ = DeviceBuffer<float>(k);
  v_ = DeviceBuffer<float>(v);
  qkv_ = DeviceBuffer<float>(packed(shape, options.input("q").host(), k, v));
}

void Chapter05::pipeline(float* out) {
  unfused::strips::overlapped_strips(same_, qkv_.data(), workspace_, out);
}

void Chapter05::stages(float* out) {
  float* const S = workspace_.preatt.data();  // (B, NH, T, T)
  float* const P = workspace_.att.data();     // (B, NH, T, T)
  unfused::scores(same_, workspace_.blas, q_, k_.data(), S);
  unfused::scale_mask(same_, S);
  unfused::softmax(same_, S, P);
  unfused::values(same_, workspace_.blas, P, v_.data(), out);
}

std::vector<float> heads_in_front(const Attention& shape, std::span<const float> out) {
  std::vector<float> moved(out.size());
  for_each_row(shape, 0, 1, [&](int64_t to, int64_t from) {
    std::copy_n(out.begin() + from, shape.HS, moved.begin() + to);
  });
  return moved;
}

std::string memory_text(const Attention& shape) {
  return "memory beside q, k, v and out: chapter 05 " + with_prefix(chapter_05_bytes(shape), "B") +
         " for S and P (8·B·NH·Tq·Tk); the steps " +
         with_prefix(4 * static_cast<double>(shape.rows()), "B") + " for lse (4·B·NH·Tq)";
}

}  // namespace tutorial::flash_attention
