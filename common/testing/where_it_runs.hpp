// What runs on which GPU: the table of docs/setup.md, beside what the launchers would launch there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"

namespace tutorial {

/// The sizes that a program has on a GPU, by option, as its source says:
///
///   const auto gpu = gpu_sizes("02_tiled_matmul/main.cpp");  // gpu.at("--m")
std::map<std::string, int64_t> gpu_sizes(const std::string& path);

/// Head sizes that are looked at besides the usual one.
inline constexpr int64_t HEAD_SIZES[] = {32, 64, 80, 128, 256};

struct AskedStep {
  std::string part = {}, name = {}, needs = {};  // "06/faster"; as in the step's entry
  int64_t head_size = 0;                         // 0: the usual one
};

/// Asks, for each GPU, what `launch` would launch there: is the step refused, in a sentence, where
/// the table says that it does not run, and nowhere else? At a head size that is not the usual one
/// it may also be refused where an H100 refuses it. Does what it launches fit: threads, shared
/// memory, clusters, and the registers of docs/results/registers.csv? A sentence for each "no".
std::vector<std::string> problems_of(const AskedStep& step, const std::function<void()>& launch);

/// Each of these is a failure of the test. Skips it on a GPU.
void check_where_it_runs(const AskedStep& step, const std::function<void()>& launch);

/// The same of all steps of a list; launch(launcher) calls one. The buffers that it allocates take
/// no memory.
template <class Launcher, class Launch>
void check_where_they_run(const std::string& part, const std::vector<Step<Launcher>>& list,
                          const Launch& launch, int64_t head_size = 0) {
  for (const auto& step : list)
    check_where_it_runs({part, step.name, step.needs, head_size}, [&] { launch(step.launch); });
}

}  // namespace tutorial
