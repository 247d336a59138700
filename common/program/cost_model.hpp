// What a step's file says that its kernel asks global memory for. It stands in the comment at the
// file's head, for people and for --profile:
//
//   // asked for       loads 4·K·(M·⌈N/16⌉ + N·⌈M/16⌉) bytes, stores 4·M·N bytes
//
// In a file of several kernels the words are "asked for by fill_kernel". A formula has numbers, the
// chapter's symbols, + - · / ( ) and ⌈ ⌉, which rounds up.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tutorial {

struct CostModel {
  std::string loads, stores;  // formulas, in bytes
};

/// The model for `kernel` (its template arguments do not count) in the file at `path`. Nothing when
/// the file has none or cannot be read.
std::optional<CostModel> read_cost_model(const std::string& path, const std::string& kernel);

/// The value of a formula. Throws Error, one sentence, for what it does not understand.
double evaluate(const std::string& formula, const std::map<std::string, double>& symbols);

}  // namespace tutorial
