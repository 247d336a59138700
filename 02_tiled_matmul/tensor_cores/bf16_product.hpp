// What the programs of parts tensor_cores and hopper share: C = A·B from bf16 numbers, its options,
// and what is compared of it.
#pragma once

#include <functional>
#include <vector>

#include "common/program/table.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// `own`, with the sizes, the flag and the inputs a and b that ProductOptions are made of.
Usage with_product(Usage own);

struct ProductOptions {
  Bf16Product product;
  bool is_c_bf16;

  /// No C, but its type.
  Output no_output() const { return is_c_bf16 ? Output(static_cast<bf16*>(nullptr)) : Output(); }
};
ProductOptions product_options_of(const Options& options);

/// Says what the problem is, and its least work.
void announce(Table& table, const ProductOptions& options);

/// The whole result where the host can afford a reference. Else some rows of it, from all over C,
/// and the others by their sums with random signs. A and B are the inputs, rounded.
std::function<Comparison(const Launched&)> check_of(const ProductOptions& options,
                                                    const std::vector<bf16>& A,
                                                    const std::vector<bf16>& B, uint64_t seed);

/// Launches a step, and the vendor's routine, on a C of the type that is asked for.
template <class Call>
Launched launch(Table& table, const ProductOptions& options, const Step<Launcher>& step,
                const Call& call) {
  const auto to = [=](auto run, auto* C) { return call(run, Output(C)); };
  return options.is_c_bf16 ? table.launch_bf16(step, to) : table.launch(step, to);
}
Launched launch_vendor(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch);

}  // namespace tutorial::tiled_matmul::tensor_cores
