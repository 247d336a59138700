#include "fp8/errors.hpp"

#include <cmath>
#include <cstdio>

namespace tutorial::flash_attention::fp8 {

Errors::Errors(const Attention& shape, const std::vector<float>& q, const std::vector<float>& k,
               const std::vector<float>& v, std::span<const int64_t> rows)
    : HS_(shape.HS),
      rows_(rows),
      exact_(flash_attention::reference(shape, q, k, v, rows).out.value) {}

/// The root mean square of the errors, as a part of that of the values.
double Errors::error_of(std::span<const float> out, const std::vector<double>& want) const {
  double squares = 0, of_values = 0;
  for (size_t i = 0; i < rows_.size(); ++i)
    for (int64_t d = 0; d < HS_; ++d) {
      squares += std::pow(out[rows_[i] * HS_ + d] - want[i * HS_ + d], 2);
      of_values += std::pow(want[i * HS_ + d], 2);
    }
  return std::sqrt(of_values == 0 ? squares : squares / of_values);
}

void Errors::add(const std::string& name, std::span<const float> out,
                 const std::vector<double>& of_rounded) {
  char line[100];
  std::snprintf(line, sizeof line, "  %-20s  %.1e         %.1e", name.c_str(),
                error_of(out, exact_), error_of(out, of_rounded));
  lines_.push_back(line);
}

void Errors::note(Table& table) const {
  table.note("error of out against double, of " + count_text(static_cast<int64_t>(rows_.size())) +
             " rows, as a part of out, both as roots of mean squares:");
  table.note("                        of q, k and v   of them rounded");
  for (const std::string& line : lines_) table.note(line);
}

}  // namespace tutorial::flash_attention::fp8
