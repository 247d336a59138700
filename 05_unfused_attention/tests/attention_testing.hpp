// What the tests of chapter 05 share: shapes, inputs, and one way to check a pipeline.
#pragma once

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <limits>
#include <vector>

#include "05_unfused_attention.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::unfused_attention {

inline constexpr float INF = std::numeric_limits<float>::infinity();
inline constexpr float QUIET_NAN = std::numeric_limits<float>::quiet_NaN();

/// These values, and nothing near them.
Expected exactly(const std::vector<float>& values);

std::vector<float> normal(int64_t count, uint64_t seed);
std::vector<float> arange(int64_t count);
/// A qkv, normal.
std::vector<float> values_for(const Attention& a, uint64_t seed = 1);
/// qkv for which all scores lie near `score`, before the scaling.
std::vector<float> qkv_with_scores_near(const Attention& a, float score);
/// Scores as scores() leaves them, around `middle` in one row and -middle in the next: what a row
/// takes from its neighbour shows. From one key to the next they rise by `rise`.
std::vector<float> raw_scores(const Attention& a, float middle, float rise = 0);

/// preatt, att and their like, as a failure report shows them.
Layout score_layout(const Attention& a, const char* name);
Layout head_layout(const Attention& a, const char* name);
Layout out_layout(const Attention& a);

/// Runs the rest of the test for shapes with B and NH from 2 on, T and HS no powers of two, HS no
/// square; and small ones. Each causal and full. Blocks are small, so that rows have more keys than
/// a block has threads.
Attention each_shape();

/// The steps of the chapter and of part strips.
std::vector<Step<Launcher>> all_pipelines();
/// As attention_reference() takes it: 0 for the chapter's own steps.
int64_t strip_height_of(const Step<Launcher>& step, const Attention& a);

/// Runs a pipeline twice: what the first run left in the workspace must not show in the second.
void check_pipeline(const Step<Launcher>& step, const Attention& a, const std::vector<float>& qkv,
                    int64_t offset_in = 0, int64_t offset_out = 0);

}  // namespace tutorial::unfused_attention
