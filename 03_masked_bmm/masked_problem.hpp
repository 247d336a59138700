// What the programs of this chapter share: their options, and the problem that these name.
#pragma once

#include <string>

#include "03_masked_bmm.hpp"
#include "common/program/table.hpp"

namespace tutorial::masked_bmm {

/// `own`, a program's name and its steps, with the options that each of them has.
Usage with_masked_options(Usage own);

struct MaskedProblem {
  MaskedBmm p;  // without what lies on the device
  Mask mask;
};
/// Throws Error where the options name no mask or no fill value, or a C that does not fit.
MaskedProblem read_problem(const Options& options);

/// Tells the table what the problem is, and how much of it the mask leaves. Of each mask comes on
/// the device what takes so many bytes besides: a block of 128×128, a patch of 8×8.
void announce(Table& table, const Options& options, const MaskedProblem& problem,
              double bytes_of_block, double bytes_of_patch);

}  // namespace tutorial::masked_bmm
