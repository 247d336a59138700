#include "common/testing/recorded_registers.hpp"

#include <algorithm>
#include <fstream>
#include <vector>

#include "common/kernel/grid.hpp"

namespace tutorial {
namespace {

constexpr int64_t REGISTERS = 65536;  // of a multiprocessor, a quarter for each of its schedulers

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

/// "softmax_again" for tutorial::unfused_attention::(anonymous namespace)::softmax_again<4>
std::string plain_name(const std::string& kernel) {
  const std::string scoped = kernel.substr(0, kernel.find('<'));
  const size_t scope = scoped.rfind("::");
  return scope == std::string::npos ? scoped : scoped.substr(scope + 2);
}

}  // namespace

RegisterRecord::RegisterRecord(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const std::vector<std::string> columns = split(text);
  while (std::getline(file, text)) {
    const std::vector<std::string> cells = split(text);
    Line line;
    for (size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) line[columns[i]] = cells[i];
    lines_.emplace(line["kernel"], line);
  }
}

std::string RegisterRecord::problem_of(const PlannedLaunch& launch, int capability,
                                       bool must_be_known) const {
  if (lines_.empty()) return "";
  const std::string column = "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
  // Of those that have the name, or what is known of it, the one that takes most.
  int64_t most = 0;
  const bool is_scoped = launch.kernel.find("::") != std::string::npos;
  for (const auto& [kernel, line] : lines_) {
    if (is_scoped ? kernel != launch.kernel : plain_name(kernel) != plain_name(launch.kernel))
      continue;
    const auto cell = line.find(column);
    if (cell != line.end() && !cell->second.empty())
      most = std::max<int64_t>(most, std::stoll(cell->second));
  }
  if (most == 0 && !must_be_known) return "";
  if (most == 0)
    return "the registers of " + launch.kernel + " on " + column +
           " are not in docs/results/registers.csv: common/tools/measure/registers.py records "
           "them, "
           "wherever nvcc is";
  // A warp gets them by 256, and the warps are shared out among four schedulers.
  const int64_t of_warp = ceil_div(32 * most, 256) * 256;
  const int64_t warps = ceil_div(ceil_div(launch.threads(), 32), 4);
  if (warps * of_warp <= REGISTERS / 4) return "";
  return launch.kernel + " takes " + std::to_string(most) + " registers a thread, and a block of " +
         std::to_string(launch.threads()) + " threads does not fit into a multiprocessor";
}

}  // namespace tutorial
