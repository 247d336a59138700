// The indented rows of the table: each stage by itself.
#pragma once

#include <functional>
#include <vector>

#include "05_unfused_attention.hpp"
#include "common/program/table.hpp"

namespace tutorial::unfused_attention {

/// A stage is run on what the stages before it left in the workspace, and compared with its own
/// reference on that, so that a fault shows in the stage that has it.
struct Stage {
  std::function<void()> prepare;  // launches what leaves its input in the workspace
  Row row;
  std::function<Comparison(const Launched&)> check;
};

/// The stages that stand above a step: those that no step before it has. They refer to all of the
/// arguments. Of large outputs as many rows are compared as the host can afford.
std::vector<Stage> stages_above(const Step<Launcher>& step, const Attention& attention, Input& qkv,
                                StageWorkspace& workspace, uint64_t seed);

}  // namespace tutorial::unfused_attention
