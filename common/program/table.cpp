// The table of a program: from the problem to the exit status.
#include "common/program/table.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <utility>

#include "common/data/files.hpp"
#include "common/program/progress.hpp"
#include "common/program/table_text.hpp"
#include "common/program/trace_file.hpp"

namespace tutorial {

struct Table::State {
  const Options& options;
  Problem problem = {};
  RunOutcome outcome = {};
  std::vector<std::string> notes = {};
  bool is_finished = false;

  Run run() { return {options, problem, outcome}; }
  void print() const;
  void write_files() const;
  void write_trace() const;
};

Table::Table(const Options& options) : state_(new State{.options = options}) {}
Table::~Table() {
  if (!state_->is_finished) state_->print();
}

void Table::ask(const std::string& step, const std::string& needs,
                const std::function<void()>& launch) {
  if (!state_->options.selected(step)) return;
  std::string& why = state_->outcome.refusals[step];
  why = why_not_here(needs);
  if (!why.empty()) return;
  try {
    launch();
  } catch (const Error& error) {
    why = error.what();
  }
}

void Table::require_one_accepts() const {
  const auto& refusals = state_->outcome.refusals;
  std::string first;
  for (const ListedStep& step : state_->options.usage.steps) {
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
  if (arithmetic == Arithmetic::fp8) return {.flop_per_s = 1979e12, .bytes_per_s = bytes_per_s};
  return {.flop_per_s = 989e12, .bytes_per_s = bytes_per_s};
}

std::string peak_text(Arithmetic arithmetic) {
  const std::string rate = with_prefix(measured_ceiling(arithmetic).flop_per_s, "FLOP/s");
  if (arithmetic == Arithmetic::fp32) return "fp32 peak " + rate;
  const char* const type = arithmetic == Arithmetic::tf32   ? "TF32"
                           : arithmetic == Arithmetic::fp16 ? "fp16"
                           : arithmetic == Arithmetic::fp8  ? "twice bf16"
                                                            : "bf16";
  return std::string(type) + " products " + rate;
}

std::string bound_text(const Cost& cost, bool measured) {
  const Ceiling ceiling = measured ? measured_ceiling(cost.arithmetic) : of_h100(cost.arithmetic);
  const bool arithmetic = bound_by_arithmetic(cost, ceiling);
  return std::string(measured ? "; ridge point " : "; an H100's ridge point is ") +
         three_digits(ceiling.ridge()) + " → bound by " + (arithmetic ? "arithmetic" : "memory") +
         (measured ? "" : " there");
}

}  // namespace

void Table::problem(const std::string& line, Cost cost, std::vector<int64_t> output,
                    double scratch_bytes) {
  Problem& problem = state_->problem;
  require_memory(state_->options, output, scratch_bytes);
  problem.device = device_description();
  problem.line = line;
  problem.cost = cost;
  problem.output_shape = std::move(output);

  std::string head = state_->options.usage.program + " · " + problem.device;
  if (state_->options.times())
    head += " · " + peak_text(cost.arithmetic) + ", copy " +
            with_prefix(measured_ceiling().bytes_per_s, "B/s") + " (measured)";
  else
    head += device_has_clock() ? " · checked, not timed" : " · counts, not GPU times";
  say(head);
  say(line);
  if (element_count(problem.output_shape) > 0)
    say(with_prefix(cost.flop, "FLOP") + ", at least " + with_prefix(cost.bytes, "B") + ", " +
        three_digits(cost.intensity()) + " FLOP/byte" + bound_text(cost, state_->options.times()));
  else
    say("an empty problem: nothing to compute");
}

void Table::say(const std::string& line) {
  std::cout << line << std::endl;
}
void Table::note(const std::string& line) {
  state_->notes.push_back(line);
}

Launched Table::launch(const Row& row) {
  return launch_row(row, Role::step, state_->run());
}
Launched Table::launch_selected(const Row& row) {
  return state_->options.selected(row.name) ? launch(row) : Launched();
}
Launched Table::launch_vendor(const Row& row) {
  return state_->options.compares() ? launch_row(row, Role::vendor, state_->run()) : Launched();
}
Launched Table::launch_vendor(const std::string& name, std::function<void(float*)> launch,
                              std::function<void(float*)> before) {
  return launch_vendor({.name = name, .launch = std::move(launch), .before = std::move(before)});
}
Launched Table::launch_goal(const std::string& name, std::function<void(float*)> launch,
                            std::function<void(float*)> before) {
  if (!state_->options.times() || !state_->options.run.kernels.empty()) return {};
  return this->launch({.name = name, .launch = std::move(launch), .before = std::move(before)});
}
bool Table::add(Launched& row, const Comparison& comparison) {
  return add_row(row, comparison, state_->run());
}

void Table::watch(const std::string& what, const std::function<void()>& launches) {
  std::optional<Progress> progress;
  if (!device_has_clock()) progress.emplace(Underway{.name = what}, state_->outcome.is_long);
  launches();
}

void Table::State::write_trace() const {
  const RunOptions& run = options.run;
  const std::string& step = run.kernels[0];
  if (!outcome.trace.launch)
    throw Error("nothing was written to " + run.trace_path + ", because " +
                why_no_trace(step, run.trace_kernel, outcome));
  const LaunchTrace& trace = *outcome.trace.launch;
  if (!trace.is_complete)
    throw Error("nothing was written to " + run.trace_path + ", because " + trace.kernel +
                " has more than " + count_text(kMostTraceEvents) +
                " events at these sizes; choose smaller ones");
  write_file(run.trace_path, trace_text({.program = options.usage.program,
                                         .step = step,
                                         .options = words_of_trace(options.words),
                                         .seed = run.seed},
                                        trace));
  std::cout << "\nwrote " << run.trace_path << ": the trace of " << trace.kernel << ", "
            << count_text(static_cast<int64_t>(trace.events.size())) << " events\n";
  if (!outcome.trace.others.empty())
    std::cout << step << " launches other kernels, too; --trace-kernel takes "
              << join(outcome.trace.others) << '\n';
}

void Table::State::write_files() const {
  const RunOptions& run = options.run;
  if (!run.trace_path.empty()) write_trace();
  if (!run.profile_csv_path.empty()) write_file(run.profile_csv_path, outcome.profile_csv);
  if (!run.sample_csv_path.empty()) write_file(run.sample_csv_path, outcome.sample_csv);
  if (!run.csv_path.empty())
    write_file(run.csv_path, csv_text(outcome.results, options.usage.program, problem));
  if (run.output_path.empty()) return;
  const bool any_wrong = std::ranges::any_of(outcome.results, [](const Result& result) {
    return result.verdict == Verdict::wrong || result.verdict == Verdict::failed;
  });
  if (any_wrong) {
    std::cout << "\nnothing was written to " << run.output_path << ", because a kernel was wrong\n";
  } else if (outcome.output_step.empty()) {
    throw Error("nothing was written to " + run.output_path +
                ", because none of the kernels asked for can run here");
  } else {
    write_npy(run.output_path, outcome.output);
    std::cout << "\nwrote " << run.output_path << ": " << options.usage.output << ", "
              << shape_text(outcome.output.shape) << ", from " << outcome.output_step << "\n";
  }
}

void Table::State::print() const {
  if (!outcome.results.empty())
    std::cout << '\n' << table_text(outcome.results, device_has_clock(), options.run.all_columns);
}

int Table::finish() {
  state_->is_finished = true;
  for (const Result& result : state_->outcome.results)
    if (result.number > 0) {
      const bool was_run = was_checked(result) || result.verdict == Verdict::failed ||
                           result.verdict == Verdict::sampled;
      state_->outcome.refusals[result.name] = was_run ? "" : result.message;
    }
  require_one_accepts();
  state_->print();
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
  require_printed();
  return wrong + failed > 0 ? 1 : 0;
}

}  // namespace tutorial
