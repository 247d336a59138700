#include "common/testing/where_it_runs.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <utility>

#include "common/backend/backend.hpp"
#include "common/backend/planned_launches.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/recorded_registers.hpp"

namespace tutorial {
namespace {

const std::string root = TUTORIAL_SOURCE_DIR "/";
constexpr int H100 = 90;
const bool in_ci = std::getenv("TUTORIAL_WERROR") != nullptr;  // .ci/run sets it

std::string dotted(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

/// All that matches: of each the whole, then its groups.
std::vector<std::vector<std::string>> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::vector<std::vector<std::string>> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression);
       at != std::sregex_iterator(); ++at)
    found.emplace_back(at->begin(), at->end());
  return found;
}

/// What the table says of one GPU in its last column but one: "no wgmma: 02/hopper; 06 `kv_outer`,
/// `q_outer` above head size 64".
bool is_left_out(const std::string& cell, const AskedStep& step) {
  for (const auto& item : matches(cell, "[^;]+")) {
    const std::string& text = item[0];
    std::set<std::string> parts, steps;
    for (const auto& name : matches(text, "`(\\w+)`")) steps.insert(name[1]);
    for (const auto& part : matches(text, "\\b\\d\\d(/\\w+)?")) parts.insert(part[0]);
    if (!parts.contains(step.part) || (!steps.empty() && !steps.contains(step.name))) continue;
    const auto above = matches(text, "above head size (\\d+)");
    if (above.empty() || step.head_size > std::stoll(above[0][1])) return true;
  }
  return false;
}

/// The table's line for a compute capability: what does not run there.
const std::string& left_out_on(int capability) {
  static const std::map<std::string, std::string> cells = [] {
    std::map<std::string, std::string> found;
    // Words may be links.
    const std::string page = std::regex_replace(contents(root + "docs/setup.md"),
                                                std::regex("\\[([^\\]]*)\\]\\([^)]*\\)"), "$1");
    for (const auto& line :
         matches(page, "\\|[^|\n]*\\| ([\\d., ]+) \\| \\d+ KB \\|([^|\n]*)\\| [\\d.]+ \\|"))
      for (const auto& capability : matches(line[1], "[\\d.]+")) found[capability[0]] = line[2];
    return found;
  }();
  const auto found = cells.find(dotted(capability));
  if (found == cells.end())
    FAIL("the table in docs/setup.md has no line for compute capability " << dotted(capability));
  return found->second;
}

struct Answer {
  std::string refusal, error;  // what the launcher, or the step's entry, says; what CUDA does
  bool launcher_refuses = false;
  std::vector<PlannedLaunch> launches;
};

Answer ask(int capability, const AskedStep& step, const std::function<void()>& launch) {
  Answer answer;
  try {
    answer.launches = plan_launches(capability, [&] {
      answer.refusal = why_not_here(step.needs);
      launch();
    });
  } catch (const Error& error) {
    answer.launcher_refuses = true;
    if (answer.refusal.empty()) answer.refusal = error.what();
  } catch (const CudaError& error) {
    answer.error = error.what();
  }
  return answer;
}

}  // namespace

std::map<std::string, int64_t> gpu_sizes(const std::string& path) {
  std::map<std::string, int64_t> sizes;
  const std::string source = contents((std::filesystem::path(root) / path).string());
  for (const auto& size : matches(source, "\\{\"(--[a-z-]+)\",\\s*\\{\\.gpu = (\\d+)"))
    sizes[size[1]] = std::stoll(size[2]);
  if (sizes.empty()) FAIL("there are no sizes, {.gpu = …}, in " << path);
  return sizes;
}

std::vector<std::string> problems_of(const AskedStep& step, const std::function<void()>& launch) {
  static const RegisterRecord registers(root + "docs/results/registers.csv");
  std::vector<std::pair<std::string, std::string>> found;  // what is wrong, and where
  const bool refused_on_h100 =
      step.head_size > 0 && !ask(H100, {.head_size = step.head_size}, launch).refusal.empty();
  for (const int capability : planned_capabilities()) {
    const auto say = [&](const std::string& what) {
      auto line = std::ranges::find(found, what, &std::pair<std::string, std::string>::first);
      if (line == found.end()) line = found.insert(line, {what, ""});
      line->second += (line->second.empty() ? "" : ", ") + dotted(capability);
    };
    const bool left_out = is_left_out(left_out_on(capability), step);
    const Answer answer = ask(capability, step, launch);
    if (!answer.refusal.empty() && !answer.launcher_refuses)
      say("its entry refuses it, and its launcher does not");
    if (!answer.error.empty()) {
      say("CUDA refuses what it launches: " + answer.error);
    } else if (!answer.refusal.empty()) {
      if (!left_out && !refused_on_h100)
        say("it does not run, and docs/setup.md says that it does: " + answer.refusal);
    } else if (left_out) {
      say("it runs, and docs/setup.md says that it does not");
    } else if (answer.launches.empty()) {
      say("it launches nothing");
    } else {
      for (const PlannedLaunch& made : answer.launches)
        if (const std::string why = registers.problem_of(made, capability, in_ci); !why.empty())
          say(why);
    }
  }
  std::vector<std::string> problems;
  const std::string size =
      step.head_size > 0 ? " at head size " + std::to_string(step.head_size) : "";
  for (const auto& [what, where] : found)
    problems.push_back(step.part + " " + step.name + size + " on compute capability " + where +
                       ": " + what);
  return problems;
}

void check_where_it_runs(const AskedStep& step, const std::function<void()>& launch) {
  if (planned_capabilities().empty()) SKIP("only the simulator is asked about other GPUs");
  SUCCEED();
  for (const std::string& problem : problems_of(step, launch)) FAIL_CHECK(problem);
}

}  // namespace tutorial
