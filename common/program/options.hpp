// What a program takes, and what it was given.
//
//   const Usage usage = {.program = "01_naive_matmul",
//                        .summary = "C = A·B, one thread for each element of C",
//                        .sizes = {{"--m", {.gpu = 4096, .cpu = 192}, "rows of A and C"}, …},
//                        .inputs = {{"a", {"--m", "--k"}, "the left matrix"}, …},
//                        .steps = listed(steps)};
//
//   const Options options = read_options(argc, argv, usage);
//   const int64_t M = options.size("--m");
//   Input& A = options.input("a");
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"
#include "common/program/inputs.hpp"

namespace tutorial {

/// A size's default: large on a GPU, small enough for the simulator on the CPU.
struct DefaultSize {
  int64_t gpu, cpu;
};

/// A size, >= 0: from --input files, the option, or the default.
struct SizeOption {
  SizeOption(const char* option, DefaultSize usual, const char* help)
      : option(option), usual(usual), help(help) {}
  /// One that equals another unless given: --kv-heads like --heads.
  SizeOption(const char* option, const char* like, const char* help)
      : option(option), like(like), help(help) {}

  std::string option;
  DefaultSize usual = {};
  std::string like;  // the option whose value is the default; "": `usual` is
  std::string help;
};

/// "--full"; "--causal,!--full": two options, for yes and for no.
struct FlagOption {
  std::string option;
  bool usual;
  std::string help;
};
struct TextOption {
  std::string option, usual, help;
};
struct NumberOption {
  std::string option;
  double usual;
  std::string help;
};

struct ListedStep {
  std::string name, idea, needs;
};
/// A list of steps for `Usage`.
template <class Launcher>
std::vector<ListedStep> listed(const std::vector<Step<Launcher>>& steps) {
  std::vector<ListedStep> list;
  for (const auto& step : steps) list.push_back({step.name, step.idea, step.needs});
  return list;
}
/// What --list prints: a line for each.
void print_list(const std::vector<ListedStep>& steps);

/// What a program takes, besides what all of them do (options.cpp).
struct Usage {
  std::string program = "";  // "02_tiled_matmul"; of a part "02_tiled_matmul/hopper"
  std::string summary = "";  // one line, for --help
  std::string after = "";    // the step that a part goes on from: "faster/spread_copies"
  std::vector<SizeOption> sizes = {};
  std::vector<FlagOption> flags = {};
  std::vector<TextOption> texts = {};
  std::vector<NumberOption> numbers = {};
  std::vector<InputOption> inputs = {};  // tensors that --input may give
  std::vector<ListedStep> steps = {};
  std::string output = "C";  // the result's name in reports
};

/// What every program takes.
struct RunOptions {
  int64_t seed = 1;
  Init init = Init::uniform;
  int repeats = 20;
  bool checks = true;                   // of every access, on the CPU backend
  std::optional<int64_t> thread_order;  // a seed, for the CPU backend
  std::vector<std::string> kernels;     // empty: all
  std::string output_path, csv_path, profile_csv_path;
  std::string sample_csv_path;           // a sample of the blocks runs, and nothing is compared
  std::string trace_path, trace_kernel;  // the kernel of a step that has several
  bool profile = false;
  bool all_columns = false;  // of the table
};

/// What a program was given.
class Options {
 public:
  // Of the options that Usage names; another name is a std::logic_error.
  int64_t size(const std::string& option) const;
  bool flag(const std::string& option) const;
  const std::string& text(const std::string& option) const;
  double number(const std::string& option) const;
  /// The tensor, which stays where it is as long as these options.
  Input& input(const std::string& name) const;

  uint64_t seed() const { return static_cast<uint64_t>(run.seed); }
  /// True unless --kernel leaves this step out.
  bool selected(const std::string& step) const;
  /// Are times compared, or all steps run? Else the table does without what they are compared with.
  bool compares() const;
  /// Does the table show times?
  bool times() const;

  // For the rest of this room.
  struct Size {
    int64_t value;
    std::string source;  // who set it: "the command line", "a.npy (5×7)"; "": nobody yet
  };
  Usage usage;
  RunOptions run;
  std::vector<std::string> words;  // of the command line
  std::vector<Size> sizes;         // in the order of usage.sizes; so the others
  std::vector<bool> flags;
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::vector<std::unique_ptr<Input>> inputs;
};

/// Reads the command line (argv[0] is the program) and the input files. Throws Finished after
/// --help and --list, and Error for anything that it does not understand: exit_status() knows both.
Options read_options(int argc, char** argv, const Usage& usage);

/// Thrown to end the program well.
struct Finished {};

/// "M=130 N=70 K=45"
std::string sizes_text(const Options& options);

/// A whole number in [least, most], all of `text`. Throws Error that names the option and the text.
int64_t parse_whole(const std::string& option, const std::string& text, int64_t least,
                    int64_t most);
double parse_number(const std::string& option, const std::string& text);

}  // namespace tutorial
