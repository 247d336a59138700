// What the programs of the road and of the parts faster and any_shape share: options, problem, and
// what is checked. Those of other parts take some of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"
#include "common/program/table.hpp"

namespace tutorial::flash_attention {

/// `own`, with the sizes that an Attention is made of, and the inputs q, k and v.
Usage with_attention(Usage own);

/// The problem of these options. Throws Error where it is not valid.
Attention attention_of(const Options& options);

/// The problem without its elements: of it a launcher only says whether it can do it.
Attention without_elements(Attention shape);

/// The steps that run: those that take what the problem needs (STRIDES); but where the user names
/// steps, these, and one that cannot do it then says so.
template <class Launcher>
std::vector<Step<Launcher>> steps_for(const Options& options,
                                      const std::vector<Step<Launcher>>& steps, unsigned needed) {
  std::vector<Step<Launcher>> chosen, able;
  for (const auto& step : steps) {
    if (options.selected(step.name)) chosen.push_back(step);
    if ((step.features & needed) == needed) able.push_back(step);
  }
  return chosen.size() < steps.size() ? chosen : able;
}

/// --lengths, of a program whose steps take them.
inline TextOption lengths_option() {
  return {"--lengths", "",
          "17,512,3: for each sequence how many of its queries and keys there are"};
}

/// What --lengths says: keys of each sequence; and its queries, where there are as many as keys.
class GivenLengths {
 public:
  GivenLengths() = default;  // none
  /// Throws Error unless there is one for each sequence, from 0 to the keys.
  GivenLengths(const Options& options, const Attention& shape);
  bool any() const { return !host_.empty(); }
  /// The shape with the lengths, for a launcher or for the reference.
  Attention on_device(Attention shape) const { return with(shape, device_.data()); }
  Attention on_host(Attention shape) const { return with(shape, host_.data()); }
  /// For a line of the program's: "" if there are none.
  std::string text(const Attention& shape) const;

 private:
  Attention with(Attention shape, const int64_t* lengths) const;
  std::vector<int64_t> host_;
  DeviceBuffer<int64_t> device_;
};

/// The least work of all sequences (its lengths are on the host): FLOP, and rows of q and of k that
/// are looked at.
struct Work {
  double flop, q_rows, kv_rows;
};
Work work_of(const Attention& shape);

/// How many pairs (query, key) of a head are not masked.
double visible_pairs(const Attention& shape);

/// Few queries to many keys, as in decoding: what counts is how fast k and v are read.
bool reads_more_than_it_computes(const Attention& shape);

/// A copy of k, of fp32 or bf16, which moves as many bytes as reading k and v; and whether it is
/// right.
Row plain_copy(const Attention& shape, const float* k);
Row plain_copy(const Attention& shape, const __nv_bfloat16* k);
Comparison compare_copy(const Launched& copy, const std::vector<float>& k);

/// "out[1×2×12×8] = softmax(q·kᵀ/√8)·v, 12 keys, 1 key and value heads, causal, fp32"
std::string problem_text(const Attention& shape, const std::string& type);
/// Of it "12 keys, 1 key and value heads, causal".
std::string keys_text(const Attention& shape);

/// Prints the problem in fp32, whose least work is the visible scores, q, k and v read, out and lse
/// written (of sequences with lengths, which are on the host, their own). The device must have
/// `more_bytes` besides.
void announce(Table& table, const Attention& shape, double more_bytes = 0);

/// Rows of out: all where the host can afford a reference, else some of them.
std::vector<int64_t> rows_to_check(const Attention& shape, uint64_t seed);

/// What is right in some rows of out and lse.
struct Wanted {
  Attention shape;
  std::vector<int64_t> rows;
  Reference of_rows;

  Comparison compare_out(std::span<const float> out, const Layout& layout) const;
  /// Of out and lse the one that is wrong; out, if both are right.
  Comparison compare(const Launched& row, const std::vector<float>& lse) const;
  Comparison compare(std::span<const float> out, const Layout& layout,
                     const std::vector<float>& lse) const;
};
Wanted wanted(const Attention& shape, const Options& options);

}  // namespace tutorial::flash_attention
