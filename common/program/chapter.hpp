// What every chapter's main() does: options, inputs, check, time, table.
//
//   void body(Chapter& chapter) {
//     int64_t M, N, K;
//     // 1. options
//     chapter.size("--m", M, {.gpu = 4096, .cpu = 192}, "rows of A and C");
//     Input& A = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix");
//     chapter.steps(steps);
//     chapter.parse();
//     // 2. sizes are known: say what the problem is
//     chapter.problem("C[…] = …", {.flop = …, .bytes = …}, {M, N});
//     chapter.check_with([&](auto got, const Layout& layout) { … });
//     // 3. one row a step
//     const float* a = A.device();
//     for (const auto& step : steps)
//       chapter.run(step, [&](float* C) { step.launch(a, …, C, M, N, K); });
//     chapter.vendor("cuBLAS", [&](float* C) { … });
//   }
//
//   int main(int argc, char** argv) {
//     return tutorial::run_chapter(argc, argv, "01_naive_matmul", {{"", "C = A·B …", body}});
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/inputs.hpp"
#include "common/program/options.hpp"
#include "common/program/row.hpp"

namespace tutorial {

class Chapter;

/// A problem that the chapter's program can run: the one without a name, or that of `--part NAME`.
struct Part {
  const char* name;     // "" or, say, "joint"
  const char* summary;  // one line, for --help
  std::function<void(Chapter&)> body;
};

class Chapter {
 public:
  ~Chapter();

  // ---- 1. what the program takes; before parse()

  /// A size option, >= 0. `value` is set by parse(): from --input files, the option, or the
  /// default.
  void size(const char* option, int64_t& value, DefaultSize usual, const char* help);
  /// A size that equals another one unless given: --kv-heads like --heads.
  void size_like(const char* option, int64_t& value, const char* other, const char* help);
  void flag(const char* option, bool& value, const char* help);  // "--full"; "--full,!--causal" too
  /// The value that the variable has at the call is the default of text() and number().
  void text(const char* option, std::string& value, const char* help);
  void number(const char* option, double& value, const char* help);
  /// A tensor: from `--input name=file.npy`, else by --init and --seed. Its values are there after
  /// parse(); the reference stays good as long as the chapter.
  Input& input(const char* name, std::vector<Extent> shape, const char* help);
  template <class Launcher>
  void steps(const std::vector<Step<Launcher>>& list) {
    for (const auto& step : list) add_step(step.name, step.idea, step.needs);
  }
  void add_step(std::string name, std::string idea, std::string needs = "");

  /// Reads the command line and the input files. Ends the program for --help and --list. Throws
  /// Error for anything that it does not understand.
  void parse();

  // ---- 2. after parse()

  uint64_t seed() const;
  int repeats() const;
  /// True unless --kernel leaves this step out.
  bool selected(const std::string& step) const;
  /// Does the table say what the steps are compared with? Not where --kernel chooses steps and no
  /// times are compared. vendor() knows this.
  bool compares() const;
  /// Throws Error when no selected step can do the problem, so that nothing is computed in vain.
  /// `launch` calls a step's launcher for the problem without its elements: a launcher refuses
  /// before it looks whether there is anything to do.
  template <class Launcher, class Launch>
  void require_a_step(const std::vector<Step<Launcher>>& list, const Launch& launch) {
    for (const auto& step : list) ask(step.name, step.needs, [&] { launch(step.launch); });
    require_one_accepts();
  }

  // ---- 3. the problem

  /// Prints the device, the line, the FLOP, the least bytes, the intensity and which bound applies.
  /// `output` is the result's shape. Throws Error when the device has too little memory: the inputs
  /// and the output are counted, and `scratch_bytes` more.
  void problem(const std::string& line, Cost cost, std::vector<int64_t> output,
               double scratch_bytes = 0);
  void check_with(Check check);
  /// The name of the output in reports: "C", "y". Default "C".
  void output_name(const std::string& name);
  /// What the letters in the steps' headers stand for, for --profile
  /// (common/program/cost_model.hpp).
  void symbols(const std::map<std::string, int64_t>& values);
  /// A line printed before or below the table.
  void say(const std::string& line);
  void note(const std::string& line);

  // ---- 4. rows. Each: poison the output, launch, check; time it only if it is right.

  template <class Launcher>
  void run(const Step<Launcher>& step, std::function<void(float*)> launch,
           std::function<void(float*)> before = {}) {
    if (selected(step.name))
      run(Row{.name = step.name,
              .tile = step.tile,
              .needs = step.needs,
              .launch = std::move(launch),
              .before = std::move(before)});
  }
  /// The same for a step whose output is bf16; the check gets it widened to float32.
  template <class Launcher>
  void run_bf16(const Step<Launcher>& step, std::function<void(__nv_bfloat16*)> launch) {
    if (selected(step.name))
      run(Row{.name = step.name,
              .tile = step.tile,
              .needs = step.needs,
              .launch_bf16 = std::move(launch)});
  }
  /// Returns true when the result was right.
  bool run(Row row);
  /// The vendor's routine for the whole problem: the 100 % of the column "of <name>". Not where
  /// nothing is compared.
  void vendor(const std::string& name, std::function<void(float*)> launch,
              std::function<void(float*)> before = {});
  /// The same with an output, a check or a cost of its own.
  void vendor(Row row);
  /// Runs kernels that have no row; where that takes long, says how far `what` is.
  void watch(const std::string& what, const std::function<void()>& launches);

 private:
  friend int run_chapter(int, char**, const char*, const std::vector<Part>&);
  Chapter(const std::vector<char*>& words, const std::string& name, const Part& part,
          const std::vector<Part>& parts);
  /// The names of the steps that the part's body lists before it reads the command line.
  static std::vector<std::string> steps_of(const Part& part);
  void print_table() const;
  int finish();  // prints the table, writes --csv and --output; the exit status

  /// Notes why a selected step does not launch, if it does not.
  void ask(const std::string& step, const std::string& needs, const std::function<void()>& launch);
  void require_one_accepts() const;

  struct State;
  std::unique_ptr<State> state_;
};

/// Runs the body of the part that the command line names, and prints the table. `parts` begins with
/// the chapter's own problem. Exit status: 0, or 1 when a kernel was wrong or failed, or 2 with one
/// sentence on stderr when the body threw Error or there is no such part.
int run_chapter(int argc, char** argv, const char* name, const std::vector<Part>& parts);

}  // namespace tutorial
