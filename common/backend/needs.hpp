// Which GPU has what a step needs: one rule for both backends.
#pragma once

#include <string>

namespace tutorial {

/// Why what needs this ("", "sm_80", "sm_90a") cannot run where the compute capability is `here`
/// (90: 9.0), or "" if it can; `device` is "this GPU". What came with a compute capability is in
/// all newer ones, too, but for what has an "a": that is on this one alone.
inline std::string why_not_on(const std::string& needs, int here, const std::string& device) {
  if (needs.empty()) return "";
  const int wanted = needs.starts_with("sm_") ? std::stoi(needs.substr(3)) : here + 1;
  const bool that_alone = needs.back() == 'a';
  if (that_alone ? here == wanted : here >= wanted) return "";
  return "needs " + needs + (that_alone && here > wanted ? " itself" : "") + ", and " + device +
         " is sm_" + std::to_string(here);
}

}  // namespace tutorial
