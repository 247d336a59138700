// The options: what each means is decided here, so that every message says what is wrong with which
// value.
#include "common/program/options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "common/backend/backend.hpp"
#include "common/data/files.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/command_line.hpp"

namespace tutorial {
namespace {

std::string default_text(const SizeOption& size) {
  if (!size.like.empty()) return " (default: that of " + size.like + ")";
  const std::string gpu = std::to_string(size.usual.gpu), cpu = std::to_string(size.usual.cpu);
  if (gpu == cpu) return " (default: " + gpu + ")";
  return " (default: " + gpu + " on a GPU, " + cpu + " on the CPU)";
}

std::string default_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void print_inputs_help(const std::vector<InputOption>& inputs) {
  if (inputs.empty()) return;
  std::cout << "\nNames for --input:\n";
  for (const InputOption& input : inputs)
    std::cout << "  " << input.name << " " << extents_text(input.extents) << ": " << input.help
              << '\n';
}

/// The options that are the program's own.
void declare_own(CommandLine& line, Options& given) {
  const Usage& usage = given.usage;
  line.group("Sizes");
  for (size_t i = 0; i < usage.sizes.size(); ++i) {
    const SizeOption& size = usage.sizes[i];
    line.one(size.option, "N", size.help + default_text(size),
             [&given, &size, i](const std::string& text) {
               // Large enough for anything; small enough that a few of them do not overflow when
               // multiplied by a constant.
               const int64_t value = parse_whole(size.option, text, 0, int64_t{1} << 40);
               given.sizes[i] = {value, "the command line"};
             });
  }
  line.group("Choices");
  for (size_t i = 0; i < usage.flags.size(); ++i)
    line.flag(usage.flags[i].option, usage.flags[i].help,
              [&given, i](bool value) { given.flags[i] = value; });
  for (size_t i = 0; i < usage.texts.size(); ++i) {
    const TextOption& text = usage.texts[i];
    line.one(text.option, "TEXT", text.help + " (default: " + text.usual + ")",
             [&given, i](const std::string& value) { given.texts[i] = value; });
  }
  for (size_t i = 0; i < usage.numbers.size(); ++i) {
    const NumberOption& number = usage.numbers[i];
    line.one(number.option, "NUMBER",
             number.help + " (default: " + default_text(number.usual) + ")",
             [&given, &number, i](const std::string& text) {
               given.numbers[i] = parse_number(number.option, text);
             });
  }
}

/// The options that every program has.
void declare_common(CommandLine& line, RunOptions& run, std::vector<std::string>& assignments) {
  line.group("Tensors");
  line.many("--input", "NAME=FILE.npy", "read an input instead of making it; repeatable",
            assignments);
  line.file("--output", "FILE.npy", "write the last selected kernel's result", run.output_path);
  line.one("--init", init_names(), "values of the inputs that no file gives (default: uniform)",
           [&](const std::string& text) { run.init = parse_init(text); });
  line.one("--seed", "N", "seed of those values (default: 1)",
           [&](const std::string& text) { run.seed = parse_whole("--seed", text, 0, INT64_MAX); });

  line.group("Run");
  line.many("--kernel", "NAME[,NAME]",
            "run only these, their stages, and what times are compared with; --list: their names",
            run.kernels, ',');
  line.one("--repeats", "N", "timed runs of each kernel, on a GPU; 0 only checks (default: 20)",
           [&](const std::string& text) {
             run.repeats = static_cast<int>(parse_whole("--repeats", text, 0, 1'000'000));
           });
  line.one("--columns", "all", "show all columns of the table, however wide that is",
           [&](const std::string& text) {
             if (text != "all")
               throw Error("--columns \"" + text + "\" is not known; the only choice is all");
             run.all_columns = true;
           });
  line.file("--csv", "FILE", "write the table as comma-separated values", run.csv_path);
  line.flag("--profile", "print each kernel's source with what its lines did (on the CPU)",
            run.profile);
  line.file("--profile-csv", "FILE", "write what each kernel did, for other programs",
            run.profile_csv_path);
  line.file(
      "--sample-csv", "FILE",
      "run a few blocks of each kernel only, compare nothing, and write what all blocks would "
      "ask of a GPU (on the CPU)",
      run.sample_csv_path);
  line.file("--trace", "FILE",
            "write what each warp of the kernel touches, event by event (on the CPU)",
            run.trace_path);
  line.one("--trace-kernel", "NAME",
           "of a step with several kernels, the one to trace (default: the first)",
           [&](const std::string& text) { run.trace_kernel = text; });
  line.flag("--no-checks",
            "do not look for races, bounds and unwritten memory (on the CPU; a GPU never does)",
            run.checks, false);
  line.one("--thread-order", "SEED",
           "run blocks and threads in a shuffled order; 0: as they are numbered (on the CPU)",
           [&](const std::string& text) {
             run.thread_order = parse_whole("--thread-order", text, 0, INT64_MAX);
           });
}

/// Throws Error where --kernel names no step.
void require_kernels(const RunOptions& run, const std::vector<ListedStep>& steps) {
  std::vector<std::string> known;
  for (const ListedStep& step : steps) known.push_back(step.name);
  for (const std::string& kernel : run.kernels)
    if (std::find(known.begin(), known.end(), kernel) == known.end())
      throw Error("there is no kernel \"" + kernel + "\" here; " + did_you_mean(kernel, known) +
                  "--kernel takes " + join(known));
}

/// Throws Error where a trace is asked for and cannot be made.
void require_traceable(const RunOptions& run) {
  if (run.trace_path.empty() && !run.trace_kernel.empty())
    throw Error("--trace-kernel chooses a kernel for --trace, which is missing; give --trace FILE");
  if (run.trace_path.empty()) return;
  if (device_has_clock())
    throw Error(
        "--trace records on the CPU backend: ./learn trace does; a GPU does not tell what "
        "its warps touch");
  if (run.kernels.size() != 1)
    throw Error("--trace records one step: give --kernel and one name of those that --list shows");
}

/// Throws Error where all selected steps need other hardware.
void require_hardware(const Options& options) {
  std::vector<std::string> reasons;
  for (const ListedStep& step : options.usage.steps)
    if (options.selected(step.name)) reasons.push_back(why_not_here(step.needs));
  if (!reasons.empty() && std::ranges::find(reasons, "") == reasons.end())
    throw Error("none of the kernels asked for can run here: " + reasons[0]);
}

/// Throws Error unless every file that is to be written can be, and is no other file of this run.
void require_own_files(const Options& options, const std::vector<std::string>& assignments) {
  struct File {
    std::string option, path;
  };
  std::vector<File> files;
  for (const std::string& assignment : assignments)
    files.push_back({"--input", assignment.substr(assignment.find('=') + 1)});
  for (size_t i = 0; i < options.texts.size(); ++i)
    if (options.texts[i].ends_with(".npy"))
      files.push_back({options.usage.texts[i].option, options.texts[i]});
  const RunOptions& run = options.run;
  for (const File& file :
       {File{"--output", run.output_path}, File{"--csv", run.csv_path},
        File{"--profile-csv", run.profile_csv_path}, File{"--sample-csv", run.sample_csv_path},
        File{"--trace", run.trace_path}}) {
    if (file.path.empty()) continue;
    require_writable(file.path);
    for (const File& other : files)
      if (same_file(file.path, other.path))
        throw Error(other.option + " and " + file.option + " both name " + file.path +
                    "; give them different files");
    files.push_back(file);
  }
}

}  // namespace

int64_t parse_whole(const std::string& option, const std::string& text, int64_t least,
                    int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  const std::string given = option + " \"" + text + "\" ";
  if (status == std::errc::invalid_argument || stop != end)
    throw Error(given + "is not a whole number; give one like 64");
  const bool overflow = status == std::errc::result_out_of_range;
  if (overflow ? text[0] == '-' : value < least)
    throw Error(given + "is too small; give " + std::to_string(least) + " or more");
  if (overflow || value > most)
    throw Error(given + "is too large; give at most " + std::to_string(most));
  return value;
}

double parse_number(const std::string& option, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || !std::isfinite(value))
    throw Error(option + " \"" + text + "\" is not a number; give one like 0.5");
  return value;
}

void print_list(const std::vector<ListedStep>& steps) {
  size_t width = 0;
  for (const ListedStep& step : steps) width = std::max(width, step.name.size());
  for (const ListedStep& step : steps) {
    std::cout << step.name << std::string(width + 2 - step.name.size(), ' ') << step.idea;
    if (!step.needs.empty()) std::cout << "  [needs " << step.needs << "]";
    std::cout << '\n';
  }
}

std::string sizes_text(const Options& options) {
  std::string text;
  for (size_t i = 0; i < options.sizes.size(); ++i) {
    std::string word = without_dashes(options.usage.sizes[i].option);
    if (word.size() == 1) word[0] = static_cast<char>(std::toupper(word[0]));
    text += (text.empty() ? "" : " ") + word + "=" + std::to_string(options.sizes[i].value);
  }
  return text;
}

namespace {

/// The place of an option in the list of those that the program takes.
template <class Option>
size_t place_of(const std::string& option, const std::vector<Option>& options) {
  for (size_t i = 0; i < options.size(); ++i)
    if (options[i].option == option || options[i].option.starts_with(option + ",")) return i;
  throw std::logic_error("the program takes no option " + option);
}

}  // namespace

int64_t Options::size(const std::string& option) const {
  return sizes[place_of(option, usage.sizes)].value;
}
bool Options::flag(const std::string& option) const {
  return flags[place_of(option, usage.flags)];
}
const std::string& Options::text(const std::string& option) const {
  return texts[place_of(option, usage.texts)];
}
double Options::number(const std::string& option) const {
  return numbers[place_of(option, usage.numbers)];
}
Input& Options::input(const std::string& name) const {
  for (const auto& input : inputs)
    if (input->name() == name) return *input;
  throw std::logic_error("the program takes no input " + name);
}
bool Options::selected(const std::string& step) const {
  return run.kernels.empty() || std::ranges::count(run.kernels, step) > 0;
}
bool Options::times() const {
  return device_has_clock() && run.repeats > 0;
}
bool Options::compares() const {
  return (run.kernels.empty() && run.sample_csv_path.empty()) || times();
}

Options read_options(int argc, char** argv, const Usage& usage) {
  Options given;
  given.usage = usage;
  given.words.assign(argv, argv + argc);
  given.sizes.resize(usage.sizes.size());
  for (const FlagOption& flag : usage.flags) given.flags.push_back(flag.usual);
  for (const TextOption& text : usage.texts) given.texts.push_back(text.usual);
  for (const NumberOption& number : usage.numbers) given.numbers.push_back(number.usual);
  for (const InputOption& input : usage.inputs)
    given.inputs.push_back(std::make_unique<Input>(input));

  RunOptions& run = given.run;
  bool help = false, list = false;
  std::vector<std::string> assignments;
  const std::string after = usage.after.empty() ? "" : "\n  goes on from " + usage.after;
  CommandLine line(usage.summary + after, usage.program);
  declare_own(line, given);
  declare_common(line, run, assignments);
  line.flag("--list", "list the kernels and stop", list);
  line.flag("-h,--help", "show this and stop", help);
  line.parse(given.words);
  if (help) {
    std::cout << line.help();
    print_inputs_help(usage.inputs);
    throw Finished();
  }
  if (list) {
    print_list(usage.steps);
    throw Finished();
  }

  if (!run.checks || !run.sample_csv_path.empty()) switch_checks(false);
  if (run.thread_order) set_thread_order(static_cast<uint64_t>(*run.thread_order));
  require_kernels(run, usage.steps);
  for (const std::string& assignment : assignments) read_input(given, assignment);
  if ((run.profile || !run.profile_csv_path.empty()) && device_has_clock())
    throw Error(
        "--profile counts on the CPU backend: ./learn profile does; on a GPU use Nsight Compute, "
        "ncu, as docs/simulator.md shows");
  if (!run.sample_csv_path.empty() && device_has_clock())
    throw Error("--sample-csv counts on the CPU backend; a GPU runs all blocks, and is timed");
  require_traceable(run);
  require_own_files(given, assignments);

  require_device();
  require_hardware(given);
  settle_sizes(given);
  return given;
}

}  // namespace tutorial
