// The indented rows of the table: each stage by itself.
#pragma once

#include <string>

#include "05_unfused_attention.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::unfused_attention {

/// Each stage is run on what the stages before it left in the workspace, and compared with its own
/// reference on that, so that a fault shows in the stage that has it.
class StageRows {
 public:
  StageRows(Chapter& chapter, const Attention& attention, Input& qkv, Workspace& workspace)
      : chapter_(chapter), a_(attention), input_(qkv), w_(workspace) {}

  /// The rows above a step: the stages that no step before it has.
  void run_above(const Step<Launcher>& step);

 private:
  void six_stages();
  void fused_stage();
  void stage_in_registers();

  void run(Row row);
  void copy_scores(float* out) const;
  Check by_rows(std::function<Expected(const std::vector<int64_t>&)> reference) const;

  Chapter& chapter_;
  const Attention& a_;
  Input& input_;
  Workspace& w_;
};

}  // namespace tutorial::unfused_attention
