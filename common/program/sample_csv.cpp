#include "common/program/sample_csv.hpp"

#include <cstdint>
#include <functional>
#include <sstream>
#include <utility>

namespace tutorial {
namespace {

struct Column {
  const char* head;
  std::function<double(const SampledLaunch&)> value;
};

double of_all(const SampledLaunch& launch, int64_t sampled) {
  return launch.factor() * static_cast<double>(sampled);
}

std::vector<Column> columns() {
  std::vector<Column> all;
  const auto add = [&](const char* head, auto value) {
    all.push_back({head, [=](const SampledLaunch& of) { return static_cast<double>(value(of)); }});
  };
  const auto counted = [&](const char* head, auto value) {
    all.push_back({head, [=](const SampledLaunch& of) { return of_all(of, value(of.counts)); }});
  };
  add("blocks", [](const auto& of) { return of.blocks(); });
  add("grid_x", [](const auto& of) { return of.grid[0]; });
  add("grid_y", [](const auto& of) { return of.grid[1]; });
  add("grid_z", [](const auto& of) { return of.grid[2]; });
  add("threads", [](const auto& of) { return of.threads(); });
  add("cluster", [](const auto& of) { return of.cluster[0] * of.cluster[1] * of.cluster[2]; });
  add("shared_bytes", [](const auto& of) { return of.shared(); });
  add("sampled", [](const auto& of) { return of.sampled; });
  add("steps", [](const auto& of) { return of_all(of, of.steps); });
  add("products", [](const auto& of) { return of_all(of, of.arithmetic.products); });
  add("divisions", [](const auto& of) { return of_all(of, of.arithmetic.divisions); });
  add("functions", [](const auto& of) { return of_all(of, of.arithmetic.functions); });
  add("merged_loads", [](const auto& of) { return of_all(of, of.merged_loads); });
  add("merged_passes", [](const auto& of) { return of_all(of, of.merged_passes); });
  add("by_warps", [](const auto& of) { return of_all(of, of.by_warps); });
  add("by_warpgroups", [](const auto& of) { return of_all(of, of.by_warpgroups); });
  add("lines", [](const auto& of) { return of_all(of, of.lines); });
  add("longest", [](const auto& of) { return of.longest; });
  add("past_l1", [](const auto& of) { return of_all(of, of.past_l1); });
  add("missed_l1_2k", [](const auto& of) { return of.factor() * of.missed_l1[0]; });
  add("missed_l1_8k", [](const auto& of) { return of.factor() * of.missed_l1[1]; });
  add("missed_l1_32k", [](const auto& of) { return of.factor() * of.missed_l1[2]; });
  counted("load_requests", [](const Counts& of) { return of.loads.requests; });
  counted("load_sectors", [](const Counts& of) { return of.loads.sectors; });
  counted("load_bytes", [](const Counts& of) { return of.loads.bytes; });
  counted("store_requests", [](const Counts& of) { return of.stores.requests; });
  counted("store_sectors", [](const Counts& of) { return of.stores.sectors; });
  counted("atomic_requests", [](const Counts& of) { return of.atomics.requests; });
  counted("atomic_sectors", [](const Counts& of) { return of.atomics.sectors; });
  counted("shared_load_requests", [](const Counts& of) { return of.shared_loads.requests; });
  counted("shared_load_passes", [](const Counts& of) { return of.shared_loads.wavefronts; });
  counted("shared_load_bytes", [](const Counts& of) { return of.shared_loads.bytes; });
  counted("shared_store_requests", [](const Counts& of) { return of.shared_stores.requests; });
  counted("shared_store_passes", [](const Counts& of) { return of.shared_stores.wavefronts; });
  counted("shared_atomic_passes", [](const Counts& of) { return of.shared_atomics.wavefronts; });
  counted("async_copies", [](const Counts& of) { return of.async_copies; });
  counted("barriers", [](const Counts& of) { return of.barriers; });
  counted("warp_operations", [](const Counts& of) { return of.warp_operations; });
  return all;
}

}  // namespace

std::string sample_csv_heads() {
  std::string heads = "program,sizes,step,flop,bytes,arithmetic,kernel";
  for (const Column& column : columns()) heads += std::string(",") + column.head;
  return heads + ",touched\n";
}

std::string sample_csv_lines(const std::string& program, const std::string& sizes,
                             const Result& result, const std::vector<SampledLaunch>& launches) {
  std::ostringstream text;
  text.precision(12);
  const std::vector<Column> all = columns();
  for (const SampledLaunch& launch : launches) {
    text << program << ',' << sizes << ',' << result.name << ',' << result.cost.flop << ','
         << result.cost.bytes << ',' << static_cast<int>(result.cost.arithmetic) << ",\""
         << launch.kernel << '"';
    for (const Column& column : all) text << ',' << column.value(launch);
    text << ',';
    for (const Touched& one : launch.touched)  // allocated:loaded:stored:x:y:z
      text << one.allocated << ':' << one.loaded << ':' << one.stored << ':' << one.shared[0] << ':'
           << one.shared[1] << ':' << one.shared[2] << ' ';
    text << '\n';
  }
  return text.str();
}

}  // namespace tutorial
