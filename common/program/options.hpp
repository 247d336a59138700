// The options: what a chapter's program declares, and what the user asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/data/random.hpp"
#include "common/kernel/error.hpp"
#include "common/program/inputs.hpp"

namespace tutorial {

/// A size's default: large on a GPU, small enough for the simulator on the CPU.
struct DefaultSize {
  int64_t gpu, cpu;
};

struct SizeOption {
  std::string option;
  int64_t* value;
  DefaultSize usual;
  std::string like;  // the option whose value is the default; "": `usual` is
  std::string help;
  std::string source;  // who set the value: "the command line", "a.npy (5×7)"; "": nobody yet
};

template <class T>
struct Setting {
  std::string option;
  T* value;
  std::string help;
};

struct ListedStep {
  std::string name, idea, needs;
};

/// What the chapter's program takes.
struct Declared {
  std::vector<SizeOption> sizes;
  std::vector<Setting<bool>> flags;
  std::vector<Setting<std::string>> texts;
  std::vector<Setting<double>> numbers;
  std::deque<Input> inputs;  // not a vector: the chapter holds references to them
  std::vector<ListedStep> steps;
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
  std::string trace_path, trace_kernel;  // the kernel of a step that has several
  bool profile = false;
  bool all_columns = false;  // of the table
};

/// Thrown to end the program well: after --help and --list.
struct Finished {};

/// --kernel names no step of this part; perhaps one of another part.
struct UnknownKernel : Error {
  UnknownKernel(const std::string& sentence, std::string kernel)
      : Error(sentence), kernel(std::move(kernel)) {}
  std::string kernel;
};

/// Reads the words of the command line (the first is the program) and the input files, and sets
/// every declared variable: sizes from files, options, or defaults. Throws Finished, or Error for
/// anything that it does not understand.
RunOptions parse_options(std::vector<char*> words, const std::string& program,
                         const std::string& summary, Declared& declared);

/// Is this step to run?
bool is_selected(const RunOptions& options, const std::string& step);
/// "M=130 N=70 K=45"
std::string sizes_text(const Declared& declared);

/// A whole number in [least, most], all of `text`. Throws Error that names the option and the text.
int64_t parse_whole(const std::string& option, const std::string& text, int64_t least,
                    int64_t most);
double parse_number(const std::string& option, const std::string& text);

}  // namespace tutorial
