// The table that a program prints: one adds rows to it.
//
//   int main(int argc, char** argv) try {
//     const Options options = read_options(argc, argv, usage);  // options.hpp
//     …
//     Table table(options);
//     table.problem("C[…] = …", {.flop = …, .bytes = …}, {M, N});
//     const auto call = [&](auto run, float* C) { return run(a, b, C, M, N, K); };
//     for (const auto& step : steps)
//       if (auto row = table.launch(step, call))
//         table.add(row, compare_rows(row.output, want, rows, row.layout));
//     return table.finish();
//   } catch (...) {
//     return tutorial::exit_status();  // one sentence that says what is wrong
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/options.hpp"
#include "common/program/row.hpp"

namespace tutorial {

class Table {
 public:
  /// The options must live as long.
  explicit Table(const Options& options);
  /// Prints the rows that there are, where an error ends the program before finish().
  ~Table();
  Table(const Table&) = delete;

  // ---- the problem

  /// Throws Error when no selected step can do the problem, so that nothing is computed in vain.
  /// `launch` calls a step's launcher for the problem without its elements: a launcher refuses
  /// before it looks whether there is anything to do.
  template <class Launcher, class Launch>
  void require_a_step(const std::vector<Step<Launcher>>& list, const Launch& launch) {
    for (const auto& step : list) ask(step.name, step.needs, [&] { launch(step.launch); });
    require_one_accepts();
  }
  /// Prints the device, the line, the FLOP, the least bytes, the intensity and which bound applies.
  /// `output` is the result's shape. Throws Error when the device has too little memory: the inputs
  /// and the output are counted, and `scratch_bytes` more.
  void problem(const std::string& line, Cost cost, std::vector<int64_t> output,
               double scratch_bytes = 0);
  /// A line printed before or below the table.
  void say(const std::string& line);
  void note(const std::string& line);

  // ---- rows: launch, compare the output, add

  /// Poisons an output and launches a step on it; `before` comes first each time, to restore what
  /// the launch reads. `call` gets a function and the output, and calls it with all that a launcher
  /// takes: that is the step's launcher, and before it its `asked`. Nothing comes back of a step
  /// that is not selected.
  template <class Launcher, class Call>
  Launched launch(const Step<Launcher>& step, const Call& call,
                  std::function<void(float*)> before = {}) {
    Row row = row_of<float>(step, call, std::move(before));
    row.launch = [=, launch = step.launch](float* out) { call(launch, out); };
    return launch_selected(row);
  }
  /// The same for a step whose output is bf16; what comes back is widened to float32.
  template <class Launcher, class Call>
  Launched launch_bf16(const Step<Launcher>& step, const Call& call,
                       std::function<void(float*)> before = {}) {
    Row row = row_of<__nv_bfloat16>(step, call, std::move(before));
    row.launch_bf16 = [=, launch = step.launch](__nv_bfloat16* out) { call(launch, out); };
    return launch_selected(row);
  }
  /// … or fp16.
  template <class Launcher, class Call>
  Launched launch_fp16(const Step<Launcher>& step, const Call& call,
                       std::function<void(float*)> before = {}) {
    Row row = row_of<__half>(step, call, std::move(before));
    row.launch_fp16 = [=, launch = step.launch](__half* out) { call(launch, out); };
    return launch_selected(row);
  }
  /// A row that is no step of the list, or one of its stages.
  Launched launch(const Row& row);
  /// The vendor's routine for the whole problem: the 100 % of the column "of <name>". Nothing comes
  /// back where nothing is compared.
  Launched launch_vendor(const std::string& name, std::function<void(float*)> launch,
                         std::function<void(float*)> before = {});
  Launched launch_vendor(const Row& row);

  /// One line of the best part, so that the goal of the steps is in sight: "any_shape/few_rows".
  /// Nothing comes back where no times are shown.
  Launched launch_goal(const std::string& name, std::function<void(float*)> launch,
                       std::function<void(float*)> before = {});

  /// Times or counts the row if its output is right, else reports what is wrong. Returns true when
  /// it was right.
  bool add(Launched& row, const Comparison& comparison);

  // ---- the rest

  /// Runs kernels that have no row; where that takes long, says how far `what` is.
  void watch(const std::string& what, const std::function<void()>& launches);
  /// Prints the table and the notes, and writes --csv, --output and the other files. Returns the
  /// program's exit status: 0, or 1 when a kernel was wrong or failed.
  int finish();

 private:
  /// A step's row, without what it launches.
  template <class Element, class Launcher, class Call>
  static Row row_of(const Step<Launcher>& step, const Call& call,
                    std::function<void(float*)> before) {
    Row row = {
        .name = step.name, .tile = step.tile, .needs = step.needs, .before = std::move(before)};
    if (step.asked != nullptr)
      row.asked = [=, asked = step.asked] { return call(asked, static_cast<Element*>(nullptr)); };
    return row;
  }
  Launched launch_selected(const Row& row);
  /// Notes why a selected step does not launch, if it does not.
  void ask(const std::string& step, const std::string& needs, const std::function<void()>& launch);
  void require_one_accepts() const;

  struct State;
  std::unique_ptr<State> state_;
};

/// The exit status for what main() caught: 0 after --help and --list, else 2, or 1 for an error of
/// CUDA, with one sentence on stderr that says what is wrong.
int exit_status();
/// Throws Error where not all of the output got through: finish() and exit_status() ask it.
void require_printed();

}  // namespace tutorial
