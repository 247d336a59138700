#include "launch_checks.hpp"

#include <cmath>
#include <string>

#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention {
void require_valid(const Attention& shape, unsigned takes) {
  for (int64_t size : {shape.B, shape.NH, shape.NH_kv, shape.Tq, shape.Tk, shape.HS})
    if (size < 0) throw Error("a size is " + std::to_string(size) + "; take 0 or more.");
  if (shape.NH > 0 && (shape.NH_kv == 0 || shape.NH % shape.NH_kv != 0))
    throw Error(std::to_string(shape.NH) + " query heads cannot share " +
                std::to_string(shape.NH_kv) +
                " key and value heads evenly; make --heads a multiple of --kv-heads.");
  const auto& [q, k, v, out] = shape.strides;
  for (const Strides& of : {q, k, v, out})
    if (of.token != 0 && (takes & STRIDES) == 0)
      throw Error(
          "this step takes tensors (B, NH, T, HS) without gaps, and no strides; take --kernel "
          "layouts of 06/tensor_cores or 06/hopper.");
  if ((shape.lengths.queries || shape.lengths.keys) && (takes & LENGTHS) == 0)
    throw Error(
        "this step knows one length for all sequences; take --kernel lengths of 06/tensor_cores, "
        "06/hopper or, in fp32, 06/any_shape.");
}

float score_scale(const Attention& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.HS)));
}

unsigned grid_blocks(int64_t blocks) {
  if (blocks > grid_limit.x)
    throw Error(std::to_string(blocks) + " blocks are more than the " +
                std::to_string(grid_limit.x) + " that a grid can have; take smaller sizes.");
  return static_cast<unsigned>(blocks);
}

void require_head_size(int64_t HS, const char* step, int64_t largest) {
  if (HS > largest)
    throw Error("head size " + std::to_string(HS) + " is too large for " + step +
                ", which takes at most " + std::to_string(largest) + "; take ./learn run 06" +
                (HS <= 256 ? "/any_shape --kernel by_shape." : " --kernel q_outer."));
}

unsigned query_blocks(const Attention& shape, int64_t Br) {
  return grid_blocks(shape.B * shape.NH * ceil_div(shape.Tq, Br));
}

}  // namespace tutorial::flash_attention
