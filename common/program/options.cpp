// The command line. CLI11 splits it and writes --help; what the words mean is decided here, so that
// every message says what is wrong with which value.
#include "common/program/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iostream>

#include "common/backend/backend.hpp"
#include "common/data/files.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

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

// Adds options to a CLI::App, all in the same way.
struct Adder {
  CLI::App& app;
  std::string group;

  // A value that starts with "--" is an option whose neighbour's value was forgotten.
  void finish(CLI::Option* option, const char* type) {
    option->group(group)->type_name(type)->check([](const std::string& value) {
      return value.starts_with("--") ? "its value is missing before " + value : std::string();
    });
  }
  void one(const std::string& name, const char* type, const std::string& help,
           const std::function<void(const std::string&)>& set) {
    finish(app.add_option_function<std::string>(name, set, help), type);
  }
  void many(const std::string& name, const char* type, const std::string& help,
            std::vector<std::string>& values, char delimiter = '\0') {
    CLI::Option* option = app.add_option(name, values, help);
    if (delimiter != '\0') option->delimiter(delimiter);
    finish(option, type);
  }
  CLI::Option* flag(const std::string& name, const std::string& help, bool& variable,
                    bool value = true) {
    return app
        .add_flag_callback(
            name, [&variable, value] { variable = value; }, help)
        ->group(group);
  }
  // "--full,!--causal": two options that set one variable, true and false.
  void flag_and_opposite(const std::string& names, const std::string& help, bool& variable) {
    const size_t comma = names.find(",!");
    const std::string name = names.substr(0, comma);
    CLI::Option* option = flag(name, help, variable);
    if (comma != std::string::npos)
      flag(names.substr(comma + 2), "the opposite of " + name, variable, false)->excludes(option);
  }
};

void print_list(const std::vector<ListedStep>& steps) {
  size_t width = 0;
  for (const ListedStep& step : steps) width = std::max(width, step.name.size());
  for (const ListedStep& step : steps) {
    std::cout << step.name << std::string(width + 2 - step.name.size(), ' ') << step.idea;
    if (!step.needs.empty()) std::cout << "  [needs " << step.needs << "]";
    std::cout << '\n';
  }
}

void print_inputs_help(const std::deque<Input>& inputs) {
  if (inputs.empty()) return;
  std::cout << "\nNames for --input:\n";
  for (const Input& input : inputs)
    std::cout << "  " << input.name() << " " << extents_text(input) << ": " << input.help() << '\n';
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

std::string sizes_text(const Declared& declared) {
  std::string text;
  for (const SizeOption& size : declared.sizes) {
    std::string word = size.option.substr(size.option.find_first_not_of('-'));
    if (word.size() == 1) word[0] = static_cast<char>(std::toupper(word[0]));
    text += (text.empty() ? "" : " ") + word + "=" + std::to_string(*size.value);
  }
  return text;
}

bool is_selected(const RunOptions& options, const std::string& step) {
  const auto& kernels = options.kernels;
  return kernels.empty() || std::find(kernels.begin(), kernels.end(), step) != kernels.end();
}

RunOptions parse_options(std::vector<char*> words, const std::string& program,
                         const std::string& summary, Declared& declared) {
  RunOptions run;
  CLI::App app(summary, program);
  app.set_help_flag();  // --help is added below, to stand with the options of the run
  app.allow_extras();   // and refused below, with a better sentence
  bool help = false, list = false;
  std::vector<std::string> assignments;

  Adder size_options{app, "Sizes"};
  for (SizeOption& size : declared.sizes)
    size_options.one(size.option, "N", size.help + default_text(size),
                     [&](const std::string& text) {
                       // Large enough for anything; small enough that a few of them do not overflow
                       // when multiplied by a constant.
                       *size.value = parse_whole(size.option, text, 0, int64_t{1} << 40);
                       size.source = "the command line";
                     });
  Adder choices{app, "Choices"};
  for (const auto& flag : declared.flags)
    choices.flag_and_opposite(flag.option, flag.help, *flag.value);
  for (const auto& text : declared.texts)
    choices.one(text.option, "TEXT", text.help + " (default: " + *text.value + ")",
                [&](const std::string& value) { *text.value = value; });
  for (const auto& number : declared.numbers)
    choices.one(
        number.option, "NUMBER", number.help + " (default: " + default_text(*number.value) + ")",
        [&](const std::string& text) { *number.value = parse_number(number.option, text); });

  Adder tensors{app, "Tensors"};
  tensors.many("--input", "NAME=FILE.npy", "read an input instead of making it; repeatable",
               assignments);
  tensors.one("--output", "FILE.npy", "write the last selected kernel's result",
              [&](const std::string& path) { run.output_path = path; });
  tensors.one("--init", init_names(), "values of the inputs that no file gives (default: uniform)",
              [&](const std::string& text) { run.init = parse_init(text); });
  tensors.one("--seed", "N", "seed of those values (default: 1)", [&](const std::string& text) {
    run.seed = parse_whole("--seed", text, 0, INT64_MAX);
  });

  Adder running{app, "Run"};
  running.many("--kernel", "NAME[,NAME]", "run only these; --list shows their names", run.kernels,
               ',');
  running.one("--repeats", "N", "timed runs of each kernel, on a GPU; 0 only checks (default: 20)",
              [&](const std::string& text) {
                run.repeats = static_cast<int>(parse_whole("--repeats", text, 0, 1'000'000));
              });
  running.one("--columns", "all", "show all columns of the table, however wide that is",
              [&](const std::string& text) {
                if (text != "all")
                  throw Error("--columns \"" + text + "\" is not known; the only choice is all");
                run.all_columns = true;
              });
  running.one("--csv", "FILE", "write the table as comma-separated values",
              [&](const std::string& path) { run.csv_path = path; });
  running.flag("--profile", "print each kernel's source with what its lines did (on the CPU)",
               run.profile);
  running.one("--profile-csv", "FILE", "write what each kernel did, for other programs",
              [&](const std::string& path) { run.profile_csv_path = path; });
  running.flag("--no-checks",
               "do not look for races, bounds and unwritten memory (on the CPU; a GPU never does)",
               run.checks, false);
  running.one("--thread-order", "SEED",
              "run blocks and threads in a shuffled order; 0: as they are numbered (on the CPU)",
              [&](const std::string& text) {
                run.thread_order = parse_whole("--thread-order", text, 0, INT64_MAX);
              });
  running.flag("--list", "list the kernels and stop", list);
  running.flag("-h,--help", "show this and stop", help);

  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; --help lists the options");
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
    const auto first = std::find_if(extras.begin(), extras.end(), is_option);
    throw Error("there is no option \"" + (first == extras.end() ? extras[0] : *first) +
                "\" here; --help lists the options");
  }
  if (help) {
    std::cout << app.help();
    print_inputs_help(declared.inputs);
    throw Finished();
  }
  if (list) {
    print_list(declared.steps);
    throw Finished();
  }

  if (!run.checks) switch_checks(false);
  if (run.thread_order) set_thread_order(static_cast<uint64_t>(*run.thread_order));

  std::vector<std::string> known;
  for (const ListedStep& step : declared.steps) known.push_back(step.name);
  for (const std::string& kernel : run.kernels)
    if (std::find(known.begin(), known.end(), kernel) == known.end())
      throw Error("there is no kernel \"" + kernel + "\" here; --kernel takes " + join(known));
  for (const std::string& assignment : assignments) read_input(declared, assignment);
  if ((run.profile || !run.profile_csv_path.empty()) && device_has_clock())
    throw Error(
        "--profile counts on the CPU backend: ./learn profile does; on a GPU use Nsight Compute, "
        "ncu, as docs/simulator.md shows");
  for (const std::string& path : {run.output_path, run.csv_path, run.profile_csv_path})
    if (!path.empty()) require_writable(path);
  const auto refuse_twice = [](const char* one, const std::string& path, const char* other,
                               const std::string& other_path) {
    if (!path.empty() && path == other_path)
      throw Error(std::string(one) + " and " + other + " both name " + path +
                  "; give them different files");
  };
  refuse_twice("--output", run.output_path, "--csv", run.csv_path);
  refuse_twice("--output", run.output_path, "--profile-csv", run.profile_csv_path);
  refuse_twice("--csv", run.csv_path, "--profile-csv", run.profile_csv_path);

  require_device();
  settle_sizes(declared, run.init, static_cast<uint64_t>(run.seed));
  return run;
}

}  // namespace tutorial
