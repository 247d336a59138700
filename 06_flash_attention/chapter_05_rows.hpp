// The rows of chapter 05 in this chapter's table (program.cpp).
#pragma once

#include <string>

#include "06_flash_attention.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::flash_attention {

/// What chapter 05 has in memory beside q, k, v and out: S and P, (B, NH, Tq, Tk) each.
double chapter_05_bytes(const Attention& shape);

/// Why chapter 05 cannot do this problem; "" if it can.
std::string why_no_chapter_05(const Attention& shape);

/// Adds the rows of chapter 05: its best pipeline, then its stages one by one. `check` takes out as
/// this chapter has it, (B, NH, Tq, HS).
void run_chapter_05(Chapter& chapter, const Attention& shape, Input& q, Input& k, Input& v,
                    const Check& check);

}  // namespace tutorial::flash_attention
