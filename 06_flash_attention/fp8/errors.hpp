// The notes below the table of part fp8: how far each row's out is from that of the tensors before
// they were rounded.
#pragma once

#include <string>
#include <vector>

#include "common/program/table.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::flash_attention::fp8 {

/// Collects a line for each row of the table. Of out these rows are looked at.
class Errors {
 public:
  Errors(const Attention& shape, const std::vector<float>& q, const std::vector<float>& k,
         const std::vector<float>& v, std::span<const int64_t> rows);
  /// A row's out, and what is right in these rows for its rounded tensors.
  void add(const std::string& name, std::span<const float> out,
           const std::vector<double>& of_rounded);
  void note(Table& table) const;

 private:
  double error_of(std::span<const float> out, const std::vector<double>& want) const;

  int64_t HS_;
  std::span<const int64_t> rows_;
  std::vector<double> exact_;
  std::vector<std::string> lines_;
};

}  // namespace tutorial::flash_attention::fp8
