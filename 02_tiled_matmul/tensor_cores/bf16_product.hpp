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

/// … and the layouts that part tensor_cores' and hopper's steps `layouts` take.
Usage with_layouts(Usage own);

struct ProductOptions {
  Bf16Product product;
  bool is_c_bf16;

  /// The product without its elements, for what a launcher refuses.
  Bf16Product no_elements() const {
    Bf16Product none = product;
    none.M = none.N = none.K = 0;
    return none;
  }

  /// No C, but its type.
  Output no_output() const { return is_c_bf16 ? Output(static_cast<bf16*>(nullptr)) : Output(); }
};
ProductOptions product_options_of(const Options& options);
/// Of a program with_layouts(). Throws Error for a layout that there is not.
ProductOptions layout_options_of(const Options& options);

/// A (M, K) and B (K, N) as the product wants them: B transposed or not, NaN in all gaps. Of
/// several products, number i has rows i further down of A, and columns i further right of B.
std::vector<bf16> laid_out_a(const Bf16Product& product, const std::vector<bf16>& A);
std::vector<bf16> laid_out_b(const Bf16Product& product, const std::vector<bf16>& B);

/// Says what the problem is, and its least work.
void announce(Table& table, const ProductOptions& options);

/// The whole result where the host can afford a reference. Else some rows of it, from all over C,
/// and the others by their sums with random signs. A and B are the inputs, rounded, not laid out.
/// With an epilogue, `then`, it is some rows only.
std::function<Comparison(const Launched&)> check_of(
    const ProductOptions& options, const std::vector<bf16>& A, const std::vector<bf16>& B,
    uint64_t seed, const std::function<Expected(Expected)>& then = {});

/// Launches a step, and the vendor's routine, on a C of the type that is asked for.
template <class Call>
Launched launch(Table& table, const ProductOptions& options, const Step<Launcher>& step,
                const Call& call) {
  const auto to = [=](auto run, auto* C) { return call(run, Output(C)); };
  return options.is_c_bf16 ? table.launch_bf16(step, to) : table.launch(step, to);
}
/// The same of what is neither a step nor the vendor's.
Launched launch_beside(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch);
Launched launch_vendor(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch);
/// cuBLAS' product in this layout, and behind it what else there is to do.
Launched launch_cublas(Table& table, const ProductOptions& options, const bf16* A, const bf16* B,
                       const std::function<void(Output)>& then = {});

}  // namespace tutorial::tiled_matmul::tensor_cores
