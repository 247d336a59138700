// What the programs of parts faster and any_shape share: C = alpha·A·B + beta·C, its options, and
// what is compared of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/program/table.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {

/// `own`, with the sizes and numbers that a ScaledProduct is made of, and the inputs a, b and c.
Usage with_product(Usage own);

/// The problem of these options. Throws Error where alpha or beta is no float32.
ScaledProduct product_of(const Options& options);

/// Says what the problem is, and its least work. A, B, C and scratch_bytes must fit into memory.
void announce(Table& table, const ScaledProduct& product, double scratch_bytes = 0);

/// The whole result where the host can afford a reference. Else some rows of it, from all over C,
/// and a plain product's other rows by their sums with random signs.
std::function<Comparison(const Launched&)> check_of(const ScaledProduct& product,
                                                    const Options& options);

/// For before each launch: C becomes what it held before, where that matters.
std::function<void(float*)> restore_of(const ScaledProduct& product, const Options& options);

}  // namespace tutorial::tiled_matmul::faster
