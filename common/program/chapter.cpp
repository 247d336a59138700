// The frame of every chapter's program: from the declaration of its options to its table.
#include "common/program/chapter.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "common/data/files.hpp"
#include "common/program/cost_model.hpp"
#include "common/program/progress.hpp"
#include "common/program/table.hpp"
#include "common/program/trace_file.hpp"

namespace tutorial {

struct Chapter::State {
  std::vector<char*> words;  // of the command line, without --part; none: only list the steps
  std::string program, part;
  std::string name, summary;  // of both, for people
  Declared declared;
  RunOptions options;  // from parse() on
  Problem problem;
  Outcome outcome;
  std::vector<std::string> notes;

  bool times() const { return device_has_clock() && options.repeats > 0; }
  bool run(const Row& row, Role role) {
    return run_row(row, role, {name, declared, options, problem, outcome});
  }
  void write_files() const;
  void write_trace() const;
};

Chapter::Chapter(const std::vector<char*>& words, const std::string& name, const Part& part,
                 const std::vector<Part>& parts)
    : state_(std::make_unique<State>()) {
  state_->words = words;
  state_->program = state_->name = name;
  state_->part = part.name;
  state_->summary = part.summary;
  if (*part.name != '\0')
    state_->name += std::string(" --part ") + part.name;
  else
    for (const Part& other : parts)
      if (*other.name != '\0')
        state_->summary += std::string("\n  --part ") + other.name + ": " + other.summary;
}
Chapter::~Chapter() = default;

void Chapter::size(const char* option, int64_t& value, DefaultSize usual, const char* help) {
  state_->declared.sizes.push_back({option, &value, usual, "", help, ""});
}

void Chapter::size_like(const char* option, int64_t& value, const char* other, const char* help) {
  state_->declared.sizes.push_back({option, &value, {0, 0}, other, help, ""});
}

void Chapter::flag(const char* option, bool& value, const char* help) {
  state_->declared.flags.push_back({option, &value, help});
}

void Chapter::text(const char* option, std::string& value, const char* help) {
  state_->declared.texts.push_back({option, &value, help});
}

void Chapter::number(const char* option, double& value, const char* help) {
  state_->declared.numbers.push_back({option, &value, help});
}

Input& Chapter::input(const char* name, std::vector<Extent> shape, const char* help) {
  return state_->declared.inputs.emplace_back(name, std::move(shape), help);
}

void Chapter::add_step(std::string name, std::string idea, std::string needs) {
  state_->declared.steps.push_back({std::move(name), std::move(idea), std::move(needs)});
}

std::vector<std::string> Chapter::steps_of(const Part& part) {
  Chapter chapter({}, "", part, {});
  try {
    part.body(chapter);
  } catch (const Finished&) {  // by parse()
  }
  std::vector<std::string> names;
  for (const ListedStep& step : chapter.state_->declared.steps) names.push_back(step.name);
  return names;
}

void Chapter::parse() {
  if (state_->words.empty()) throw Finished();
  state_->options = parse_options(state_->words, state_->name, state_->summary, state_->declared);
}

uint64_t Chapter::seed() const {
  return static_cast<uint64_t>(state_->options.seed);
}
int Chapter::repeats() const {
  return state_->options.repeats;
}
bool Chapter::selected(const std::string& step) const {
  return is_selected(state_->options, step);
}

bool Chapter::compares() const {
  return state_->options.kernels.empty() || state_->times();
}

void Chapter::ask(const std::string& step, const std::string& needs,
                  const std::function<void()>& launch) {
  if (!selected(step)) return;
  std::string& why = state_->outcome.refusals[step];
  why = why_not_here(needs);
  if (!why.empty()) return;
  try {
    launch();
  } catch (const Error& error) {
    why = error.what();
  }
}

void Chapter::require_one_accepts() const {
  const auto& refusals = state_->outcome.refusals;
  std::string first;
  for (const ListedStep& step : state_->declared.steps) {
    const auto why = refusals.find(step.name);
    if (why == refusals.end()) continue;
    if (why->second.empty()) return;
    if (first.empty()) first = why->second;
  }
  if (refusals.size() == 1) throw Error(first);
  if (refusals.size() > 1) throw Error("no step can do this; the first says: " + first);
}

namespace {

// The data sheet's figures, for a backend that cannot measure its own.
Ceiling of_h100(Arithmetic arithmetic) {
  const double bytes_per_s = 3.35e12;
  if (arithmetic == Arithmetic::fp32) return {.flop_per_s = 66.9e12, .bytes_per_s = bytes_per_s};
  if (arithmetic == Arithmetic::tf32) return {.flop_per_s = 495e12, .bytes_per_s = bytes_per_s};
  return {.flop_per_s = 989e12, .bytes_per_s = bytes_per_s};
}

std::string peak_text(Arithmetic arithmetic) {
  const std::string rate = with_prefix(measured_ceiling(arithmetic).flop_per_s, "FLOP/s");
  if (arithmetic == Arithmetic::fp32) return "fp32 peak " + rate;
  return std::string(arithmetic == Arithmetic::tf32 ? "TF32" : "bf16") + " products " + rate;
}

std::string bound_text(const Cost& cost, bool measured) {
  const Ceiling ceiling = measured ? measured_ceiling(cost.arithmetic) : of_h100(cost.arithmetic);
  const bool arithmetic = bound_by_arithmetic(cost, ceiling);
  return std::string(measured ? "; ridge point " : "; an H100's ridge point is ") +
         three_digits(ceiling.ridge()) + " → bound by " + (arithmetic ? "arithmetic" : "memory") +
         (measured ? "" : " there");
}

}  // namespace

void Chapter::problem(const std::string& line, Cost cost, std::vector<int64_t> output,
                      double scratch_bytes) {
  Problem& problem = state_->problem;
  require_memory(state_->declared, output, scratch_bytes);
  problem.device = device_description();
  problem.line = line;
  problem.cost = cost;
  problem.output_shape = std::move(output);

  std::string head = state_->name + " · " + problem.device;
  if (state_->times())
    head += " · " + peak_text(cost.arithmetic) + ", copy " +
            with_prefix(measured_ceiling().bytes_per_s, "B/s") + " (measured)";
  else
    head += device_has_clock() ? " · checked, not timed" : " · counts, not GPU times";
  say(head);
  say(line);
  if (element_count(problem.output_shape) > 0 && cost.bytes > 0)
    say(with_prefix(cost.flop, "FLOP") + ", at least " + with_prefix(cost.bytes, "B") + ", " +
        three_digits(cost.intensity()) + " FLOP/byte" + bound_text(cost, state_->times()));
  else
    say("an empty problem: nothing to compute");
}

void Chapter::check_with(Check check) {
  state_->problem.check = std::move(check);
}
void Chapter::symbols(const std::map<std::string, int64_t>& values) {
  std::map<std::string, double>& symbols = state_->problem.symbols;
  for (const auto& [name, value] : values) symbols[name] = static_cast<double>(value);
  // Where accesses are counted, a kernel that makes ten times those of its file's header is ended.
  set_access_limit([symbols](const std::string& path, const std::string& kernel) {
    const std::optional<CostModel> model = read_cost_model(path, kernel);
    if (!model) return 0.0;
    try {
      const double bytes = evaluate(model->loads, symbols) + evaluate(model->stores, symbols);
      return 10 * bytes / sizeof(float);
    } catch (const Error&) {  // another chapter's kernel, say: its letters mean nothing here
      return 0.0;
    }
  });
}
void Chapter::output_name(const std::string& name) {
  state_->problem.output_name = name;
}
void Chapter::say(const std::string& line) {
  std::cout << line << std::endl;
}
void Chapter::note(const std::string& line) {
  state_->notes.push_back(line);
}

bool Chapter::run(Row row) {
  return state_->run(row, Role::step);
}

void Chapter::vendor(const std::string& name, std::function<void(float*)> launch,
                     std::function<void(float*)> before) {
  vendor(Row{.name = name, .launch = std::move(launch), .before = std::move(before)});
}
void Chapter::vendor(Row row) {
  if (compares()) state_->run(row, Role::vendor);
}

void Chapter::watch(const std::string& what, const std::function<void()>& launches) {
  std::optional<Progress> progress;
  if (!device_has_clock()) progress.emplace(Underway{.name = what}, state_->outcome.is_long);
  launches();
}

void Chapter::State::write_trace() const {
  const std::string& step = options.kernels[0];
  if (!outcome.trace.launch)
    throw Error("nothing was written to " + options.trace_path + ", because " +
                why_no_trace(step, options.trace_kernel, outcome));
  const LaunchTrace& trace = *outcome.trace.launch;
  if (!trace.is_complete)
    throw Error("nothing was written to " + options.trace_path + ", because " + trace.kernel +
                " has more than " + count_text(kMostTraceEvents) +
                " events at these sizes; choose smaller ones");
  write_file(options.trace_path, trace_text({.program = program,
                                             .part = part,
                                             .step = step,
                                             .options = words_of_trace(words),
                                             .seed = options.seed},
                                            trace));
  std::cout << "\nwrote " << options.trace_path << ": the trace of " << trace.kernel << ", "
            << count_text(static_cast<int64_t>(trace.events.size())) << " events\n";
  if (!outcome.trace.others.empty())
    std::cout << step << " launches other kernels, too; --trace-kernel takes "
              << join(outcome.trace.others) << '\n';
}

void Chapter::State::write_files() const {
  if (!options.trace_path.empty()) write_trace();
  if (!options.profile_csv_path.empty()) write_file(options.profile_csv_path, outcome.profile_csv);
  if (!options.csv_path.empty())
    write_file(options.csv_path, csv_text(outcome.results, name, problem));
  if (options.output_path.empty()) return;
  const bool any_wrong = std::ranges::any_of(outcome.results, [](const Result& result) {
    return result.verdict == Verdict::wrong || result.verdict == Verdict::failed;
  });
  if (any_wrong) {
    std::cout << "\nnothing was written to " << options.output_path
              << ", because a kernel was wrong\n";
  } else if (outcome.output_step.empty()) {
    throw Error("nothing was written to " + options.output_path +
                ", because none of the kernels asked for can run here");
  } else {
    write_npy(options.output_path, outcome.output);
    std::cout << "\nwrote " << options.output_path << ": " << problem.output_name << ", "
              << shape_text(outcome.output.shape) << ", from " << outcome.output_step << "\n";
  }
}

void Chapter::print_table() const {
  const auto& results = state_->outcome.results;
  if (!results.empty())
    std::cout << '\n' << table_text(results, device_has_clock(), state_->options.all_columns);
}

int Chapter::finish() {
  for (const Result& result : state_->outcome.results)
    if (result.number > 0) {
      const bool was_run = was_checked(result) || result.verdict == Verdict::failed;
      state_->outcome.refusals[result.name] = was_run ? "" : result.message;
    }
  require_one_accepts();
  print_table();
  if (!state_->notes.empty()) std::cout << '\n';
  for (const std::string& line : state_->notes) std::cout << line << '\n';

  int wrong = 0, failed = 0;
  for (const Result& result : state_->outcome.results) {
    wrong += result.verdict == Verdict::wrong;
    failed += result.verdict == Verdict::failed;
  }
  if (wrong + failed > 0) std::cout << '\n';
  if (wrong > 0) std::cout << wrong << " wrong: the report stands above the table\n";
  if (failed > 0) std::cout << failed << " failed: the table says where\n";
  state_->write_files();
  return wrong + failed > 0 ? 1 : 0;
}

}  // namespace tutorial
