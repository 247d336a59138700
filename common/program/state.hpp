// What a Chapter remembers. Private to common/chapter*.cpp and their tests.
//
//   chapter.cpp          run_chapter(), the problem and the end of the program
//   chapter_options.cpp  the command line (the only file that knows CLI11)
//   chapter_inputs.cpp   sizes from options and files; the inputs' values
//   chapter_rows.cpp     one step: launch, check, time
//   chapter_profile.cpp  --profile
//   chapter_table.cpp    the table and --csv
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/program/chapter.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/backend/profile.hpp"
#include "common/data/random.hpp"
#include "common/measure/roofline.hpp"
#include "common/measure/timing.hpp"

namespace tutorial {

/// Thrown to end the program well: after --help and --list.
struct Finished {};

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

enum class Verdict { ok, wrong, failed, refused, skipped };

/// What became of one row of the table.
struct Result {
  std::string name;
  int number = 0;  // the step's place in the list, from 1; 0: it is not in the list
  bool is_stage = false, is_vendor = false;
  Verdict verdict = Verdict::ok;
  std::string message;                      // why it was not checked: failed, refused, skipped
  double max_error = 0, bound = 0;          // of the check
  Cost cost = {};                           // the least work for this row
  double bound_ms = 0;                      // the shortest time that the device's ceilings allow
  bool by_arithmetic = false;               // which ceiling that is
  std::optional<Timing> time = {};          // a right result, on a backend with a clock
  std::optional<Work> work = {};            // a right result, on a backend that counts
  Counts counts = {};                       // of its warps, if there is `work`
  std::vector<KernelProfile> kernels = {};  // that one launch of the row launched
};

/// One line a row, with a line of column heads first. A column that would say nothing is left out.
std::string table_text(const std::vector<Result>& results, bool has_clock);
/// The same, and more, for other programs: one line of names, then one line a row.
std::string csv_text(const std::vector<Result>& results, const std::string& chapter,
                     const std::string& device, const std::string& problem);

/// Columns that a text takes on the screen.
size_t screen_width(const std::string& text);
/// 4096, 3.48 M
std::string count_text(int64_t count);
/// 2950, 29.5, 2.95: three digits that matter, without an exponent.
std::string three_digits(double value);

/// A whole number in [least, most], all of `text`. Throws Error that names the option and the text.
int64_t parse_whole(const std::string& option, const std::string& text, int64_t least,
                    int64_t most);
double parse_number(const std::string& option, const std::string& text);
/// "a, b, c"
std::string join(const std::vector<std::string>& words);

struct Chapter::State {
  // The program.
  std::vector<char*> words;  // of the command line, without --part
  std::string name, summary;
  std::vector<SizeOption> sizes;
  std::vector<Setting<bool>> flags;
  std::vector<Setting<std::string>> texts;
  std::vector<Setting<double>> numbers;
  std::deque<Input> inputs;  // not a vector: the chapter holds references to them
  std::vector<ListedStep> steps;

  // The command line.
  int64_t seed = 1;
  Init init = Init::uniform;
  int repeats = 20;
  bool checks = true;                   // of every access, on the CPU backend
  std::optional<int64_t> thread_order;  // a seed, for the CPU backend
  std::vector<std::string> kernels;     // empty: all
  std::string output_path, csv_path, profile_csv_path;
  bool profile = false;

  // The problem.
  std::string device, problem_line;
  Cost cost = {};
  std::vector<int64_t> output_shape;
  std::string output_name = "C";
  std::map<std::string, double> symbols;  // of the formulas in the steps' headers
  Check check;

  // The rows.
  std::vector<Result> results;
  std::vector<std::string> notes;
  std::string device_lost;       // the name of the row after which the device does nothing more
  Tensor output;                 // for --output: the last right result of a step
  std::string output_step = "";  // and that step
  std::string profile_csv;       // for --profile-csv

  /// Sets all of "The command line" and the chapter's own options.
  void read_command_line();
  void print_list() const;
  void print_inputs_help() const;
  /// Reads "name=file.npy" and takes sizes from the file's shape.
  void read_input(const std::string& assignment);
  /// Gives each size that nobody set its default, and each input its shape.
  void settle_sizes();
  std::string extents_text(const Input& input) const;  // "(batch, 3·channels)"
  std::string sizes_text() const;                      // "M=130 N=70 K=45"
  Input& find_input(const std::string& input);
  SizeOption& find_size(const std::string& option);

  bool times() const { return device_has_clock() && repeats > 0; }
  void require_memory(double scratch_bytes) const;
  bool run_row(const Row& row, bool is_vendor);
  /// Launches once on a poisoned output, checks, then times or counts. Fills in `result`.
  void launch_and_check(const Row& row, Result& result);
  void print_profile(const std::string& step, const std::vector<KernelProfile>& profiles) const;
  void add_to_profile_csv(const std::string& step, const std::vector<KernelProfile>& profiles);
  void write_files() const;
};

}  // namespace tutorial
