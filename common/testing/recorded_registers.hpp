// The registers that nvcc gave to each kernel: docs/results/registers.csv, which
// common/tools/measure/registers.py records.
#pragma once

#include <map>
#include <string>

#include "common/backend/planned_launches.hpp"

namespace tutorial {

class RegisterRecord {
 public:
  /// Without such a file nothing is recorded.
  explicit RegisterRecord(const std::string& path);

  /// Why a block of this launch has no room in the registers of a multiprocessor of this compute
  /// capability; "" if it has, or where nothing is recorded at all. A kernel that is not recorded,
  /// such as a learner's, has no problem unless it `must_be_known`.
  std::string problem_of(const PlannedLaunch& launch, int capability, bool must_be_known) const;

 private:
  using Line = std::map<std::string, std::string>;  // by column
  std::multimap<std::string, Line> lines_;  // by kernel: those of two files may have one name
};

}  // namespace tutorial
