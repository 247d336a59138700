// Chapter 05 on this chapter's problem: what the tables show beside the steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "05_unfused_attention.hpp"
#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"
#include "common/program/options.hpp"

namespace tutorial::flash_attention {

/// What chapter 05 has in memory beside q, k, v and out: S and P, (B, NH, Tq, Tk) each.
double chapter_05_bytes(const Attention& shape);

/// Why chapter 05 cannot do this problem; "" if it can.
std::string why_no_chapter_05(const Attention& shape);

/// Its kernels, with their tensors.
class Chapter05 {
 public:
  /// Brings q, k and v into its order.
  Chapter05(const Attention& shape, const Options& options);

  /// Its best pipeline. Writes out as chapter 05 has it: heads_in_front() moves that.
  void pipeline(float* out);
  /// Its stages one by one, less the permutations, since q, k, v and out have the heads in front.
  void stages(float* out);

 private:
  unfused_attention::Attention same_;
  unfused_attention::StageWorkspace workspace_;
  const float* q_;
  DeviceBuffer<float> k_, v_, qkv_;
};

/// Chapter 05's output, (B, T, NH, HS), as this chapter has it, (B, NH, T, HS).
std::vector<float> heads_in_front(const Attention& shape, std::span<const float> out);

/// What chapter 05 and the steps need in memory beside the tensors, for a line below the table.
std::string memory_text(const Attention& shape);

}  // namespace tutorial::flash_attention
