#include "attention_program.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/data/npy.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention {

Usage with_attention(Usage own) {
  own.sizes = {{"--batch", {.gpu = 8, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 12, .cpu = 4}, "query heads"},
               {"--kv-heads", "--heads", "key and value heads"},
               {"--seq", {.gpu = 1024, .cpu = 160}, "queries"},
               {"--seq-kv", "--seq", "keys"},
               {"--head-dim", {.gpu = 64, .cpu = 32}, "head size"}};
  own.flags = {
      {"--causal,!--full", true, "query i sees keys up to i + (seq-kv − seq); --full: all keys"}};
  own.inputs = {{"q", {"--batch", "--heads", "--seq", "--head-dim"}, "queries"},
                {"k", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "keys"},
                {"v", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "values"}};
  own.output = "out";
  return own;
}

Attention attention_of(const Options& options) {
  const Attention shape = {.B = options.size("--batch"),
                           .NH = options.size("--heads"),
                           .NH_kv = options.size("--kv-heads"),
                           .Tq = options.size("--seq"),
                           .Tk = options.size("--seq-kv"),
                           .HS = options.size("--head-dim"),
                           .causal = options.flag("--causal")};
  require_valid(shape);
  return shape;
}

Attention without_elements(Attention shape) {
  shape.B = 0;
  return shape;
}

GivenLengths::GivenLengths(const Options& options, const Attention& shape) {
  const std::string& text = options.text("--lengths");
  if (text.empty()) return;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    host_.push_back(parse_whole("--lengths", text.substr(begin, end - begin), 0, shape.Tk));
    begin = end + 1;
  }
  if (static_cast<int64_t>(host_.size()) != shape.B)
    throw Error("--lengths names " + std::to_string(host_.size()) + " lengths, and there are " +
                std::to_string(shape.B) + " sequences; name one for each, or take --batch " +
                std::to_string(host_.size()) + ".");
  device_ = DeviceBuffer<int64_t>(host_);
}

Attention GivenLengths::with(Attention shape, const int64_t* lengths) const {
  if (!any()) return shape;
  shape.lengths.keys = lengths;
  if (shape.Tq == shape.Tk) shape.lengths.queries = lengths;
  return shape;
}

std::string GivenLengths::text(const Attention& shape) const {
  if (!any()) return "";
  const int64_t there = std::accumulate(host_.begin(), host_.end(), int64_t{0});
  return std::string(shape.Tq == shape.Tk ? "queries and keys" : "keys") +
         " have lengths: " + std::to_string(there) + " of " + std::to_string(shape.B * shape.Tk) +
         " tokens are there";
}

Work work_of(const Attention& shape) {
  const double NH = static_cast<double>(shape.NH), NH_kv = static_cast<double>(shape.NH_kv);
  if (!shape.lengths.queries && !shape.lengths.keys)
    return {4 * visible_pairs(shape) * static_cast<double>(shape.B * shape.NH) *
                static_cast<double>(shape.HS),
            static_cast<double>(shape.rows()),
            static_cast<double>(shape.B * shape.NH_kv * shape.Tk)};
  Work work = {};
  for (int64_t b = 0; b < shape.B; ++b) {
    const Attention own = shape.sequence(b);
    work.flop += 4 * visible_pairs(own) * NH * static_cast<double>(shape.HS);
    work.q_rows += NH * static_cast<double>(own.Tq);
    work.kv_rows += NH_kv * static_cast<double>(own.Tk);
  }
  return work;
}

double visible_pairs(const Attention& shape) {
  const double Tq = shape.Tq, Tk = shape.Tk;
  if (!shape.causal) return Tq * Tk;
  return Tk >= Tq ? Tq * (Tk - Tq) + Tq * (Tq + 1) / 2 : Tk * (Tk + 1) / 2;
}

bool reads_more_than_it_computes(const Attention& shape) {
  return shape.rows() > 0 && shape.Tq * shape.group() <= 64 && shape.Tk > 16 * shape.Tq;
}

namespace {

/// Copies `k` to where it is told.
template <class T>
auto copies(const T* k, int64_t bytes) {
  return [k, bytes](T* to) { CUDA_CHECK(cudaMemcpyAsync(to, k, bytes, cudaMemcpyDeviceToDevice)); };
}

Row copy_row(const Attention& shape, int64_t bytes) {
  return {.name = "plain copy of k",
          .shape = {shape.B, shape.NH_kv, shape.Tk, shape.HS},
          .cost = {.bytes = 2.0 * static_cast<double>(bytes)},
          .is_stage = true};
}

template <class T>
int64_t bytes_of_keys(const Attention& shape) {
  return shape.B * shape.NH_kv * shape.Tk * shape.HS * int64_t{sizeof(T)};
}

}  // namespace

Row plain_copy(const Attention& shape, const float* k) {
  Row row = copy_row(shape, bytes_of_keys<float>(shape));
  row.launch = copies(k, bytes_of_keys<float>(shape));
  return row;
}
Row plain_copy(const Attention& shape, const __nv_bfloat16* k) {
  Row row = copy_row(shape, bytes_of_keys<__nv_bfloat16>(shape));
  row.launch_bf16 = copies(k, bytes_of_keys<__nv_bfloat16>(shape));
  return row;
}

Comparison compare_copy(const Launched& copy, const std::vector<float>& k) {
  Comparison result;
  result.ok = std::memcmp(copy.output.data(), k.data(), copy.output.size_bytes()) == 0;
  if (!result.ok) result.report = "  the copy differs from k";
  return result;
}

std::string keys_text(const Attention& shape) {
  const std::string heads =
      shape.NH == shape.NH_kv ? "" : ", " + std::to_string(shape.NH_kv) + " key and value heads";
  return std::to_string(shape.Tk) + " keys" + heads + (shape.causal ? ", causal" : ", full");
}

std::string problem_text(const Attention& shape, const std::string& type) {
  return "out[" + shape_text({shape.B, shape.NH, shape.Tq, shape.HS}) + "] = softmax(q·kᵀ/√" +
         std::to_string(shape.HS) + ")·v, " + keys_text(shape) + ", " + type;
}

void announce(Table& table, const Attention& shape, double more_bytes) {
  const double rows = static_cast<double>(shape.B) * shape.NH * shape.Tq;
  const Work work = work_of(shape);
  table.problem(problem_text(shape, "fp32"),
                {.flop = work.flop,
                 .bytes = 4 * (rows + work.q_rows + 2 * work.kv_rows) * shape.HS + 4 * rows},
                {shape.B, shape.NH, shape.Tq, shape.HS}, 8 * rows + more_bytes);
}

std::vector<int64_t> rows_to_check(const Attention& shape, uint64_t seed) {
  const double products = std::max(1.0, 1.0 * shape.Tk * shape.HS);
  return sample_rows(shape.rows(), static_cast<int64_t>(std::max(64.0, affordable(2e8) / products)),
                     seed);
}

Comparison Wanted::compare_out(std::span<const float> out, const Layout& layout) const {
  return compare_rows(out, of_rows.out, rows, layout);
}

Comparison Wanted::compare(const Launched& row, const std::vector<float>& lse) const {
  return compare(row.output, row.layout, lse);
}

Comparison Wanted::compare(std::span<const float> of_out, const Layout& layout,
                           const std::vector<float>& lse) const {
  const Comparison out = compare_out(of_out, layout);
  const Comparison sums = compare_rows(
      lse, of_rows.lse, rows, {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  return out.ok && !sums.ok ? sums : out;
}

Wanted wanted(const Attention& shape, const Options& options) {
  const std::vector<int64_t> rows = rows_to_check(shape, options.seed());
  return {shape, rows,
          reference(shape, options.input("q").host(), options.input("k").host(),
                    options.input("v").host(), rows)};
}

}  // namespace tutorial::flash_attention
