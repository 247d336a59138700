// A program like a chapter's, driven as a user drives it: a command line in, an exit status and two
// streams out. Its kernels are copies, so that it is known which of them are right.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "common/kernel/check.hpp"
#include "common/program/table.hpp"
#include "common/testing/folder.hpp"

namespace tutorial::copies {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Words = std::vector<std::string>;

/// Sends a stream's text elsewhere as long as it lives.
class Capture {
 public:
  explicit Capture(std::ostream& stream) : stream_(stream), old_(stream.rdbuf(text_.rdbuf())) {}
  ~Capture() { stream_.rdbuf(old_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostream& stream_;
  std::ostringstream text_;
  std::streambuf* old_;
};

struct Ended {
  int status;
  std::string out, err;
};

/// Runs a program's main() for these words.
inline Ended run_program(Words arguments, const std::function<int(int, char**)>& main) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const Capture out(std::cout), err(std::cerr);
  int status;
  try {
    status = main(static_cast<int>(argv.size()), argv.data());
  } catch (...) {
    status = exit_status();
  }
  return {status, out.text(), err.text()};
}
/// The same for a program that takes only what all take, and these steps.
inline Ended run_program(const Words& arguments, const std::vector<ListedStep>& steps,
                         const std::function<void(const Options&, Table&)>& rows) {
  return run_program(arguments, [&](int argc, char** argv) {
    const Usage usage = {.program = "99_copies", .summary = "Copies values.", .steps = steps};
    const Options options = read_options(argc, argv, usage);
    Table table(options);
    rows(options, table);
    return table.finish();
  });
}

// ---- A chapter. C is M×N and C[i] = i / 2.

using Launcher = void(float* C, int64_t count);

inline std::vector<float> right_values(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * static_cast<float>(i);
  return values;
}
inline void store(float* C, const std::vector<float>& values) {
  CUDA_CHECK(cudaMemcpy(C, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
}
inline void right(float* C, int64_t count) {
  store(C, right_values(count));
}
inline void off_by_one(float* C, int64_t count) {
  std::vector<float> values = right_values(count);
  if (count > 0) values.back() += 1;
  store(C, values);
}
inline void writes_nothing(float*, int64_t) {}
inline void refuses(float*, int64_t) {
  throw Error("this head size needs 300 KB of shared memory");
}
inline void fails(float*, int64_t) {
  check_cuda(cudaErrorInvalidConfiguration, "launch", "step3_fails.cu", 41);
}

inline const Step<Launcher> kRight = {
    .name = "right", .launch = right, .idea = "copies the right values"};
inline const Step<Launcher> kAlsoRight = {
    .name = "also_right", .launch = right, .idea = "does it again"};
inline const Step<Launcher> kOffByOne = {
    .name = "off_by_one", .launch = off_by_one, .idea = "spoils the last value"};
inline const Step<Launcher> kSilent = {
    .name = "silent", .launch = writes_nothing, .idea = "forgets to write"};
inline const Step<Launcher> kRefuses = {
    .name = "refuses", .launch = refuses, .idea = "wants too much"};
inline const Step<Launcher> kFails = {.name = "fails", .launch = fails, .idea = "is not launched"};
// No GPU is of this architecture: the letter asks for it and no other.
inline const Step<Launcher> kElsewhere = {
    .name = "elsewhere", .launch = right, .idea = "for other GPUs", .needs = "sm_10a"};

/// What the program saw, for tests of the options.
struct Seen {
  int64_t M = -1, N = -1, K = -1, heads = -1, kv_heads = -1;
  bool full = false;
  std::string mask = "none";
  double beta = 0.5;
  uint64_t seed = 0;
  int repeats = 0;
  std::vector<float> a, b;
};

inline Usage usage_of_copies(const std::vector<Step<Launcher>>& steps) {
  return {.program = "99_copies",
          .summary = "Copies the right values, or others.",
          .sizes = {{"--m", {3, 3}, "rows of C"},
                    {"--n", {40, 4}, "columns of C"},
                    {"--k", {5, 5}, "columns of A"},
                    {"--heads", {2, 2}, "heads"},
                    {"--kv-heads", "--heads", "heads of K and V"}},
          .flags = {{"--full,!--causal", false, "no mask, or the causal one"}},
          .texts = {{"--mask", "none", "which mask"}},
          .numbers = {{"--beta", 0.5, "factor of the old C"}},
          .inputs = {{"a", {"--m", "--k"}, "the left matrix"},
                     {"b", {"--k", "--n"}, "the right matrix"},
                     {"qkv", {"--m", {"--heads", 3}}, "three in one"}},
          .steps = listed(steps)};
}

inline Ended run_copies(const Words& arguments, const std::vector<Step<Launcher>>& steps = {kRight},
                        Seen* seen = nullptr) {
  return run_program(arguments, [&](int argc, char** argv) {
    const Options options = read_options(argc, argv, usage_of_copies(steps));
    Seen own;
    Seen& s = seen == nullptr ? own : *seen;
    s = {.M = options.size("--m"),
         .N = options.size("--n"),
         .K = options.size("--k"),
         .heads = options.size("--heads"),
         .kv_heads = options.size("--kv-heads"),
         .full = options.flag("--full"),
         .mask = options.text("--mask"),
         .beta = options.number("--beta"),
         .seed = options.seed(),
         .repeats = options.run.repeats,
         .a = {},
         .b = {}};

    const auto count = s.M * s.N;
    Table table(options);
    table.problem("C[M×N] = i / 2", {.flop = 1e3, .bytes = 4e3}, {s.M, s.N});
    s.a = options.input("a").host();
    s.b = options.input("b").host();
    const auto check = [&](const Launched& row) {
      const std::vector<float> values = right_values(count);
      return compare(row.output,
                     {{values.begin(), values.end()}, std::vector<double>(values.size(), 1e-6)},
                     row.layout);
    };
    for (const auto& step : steps)
      if (auto row = table.launch(step, [&](auto run, float* C) { return run(C, count); }))
        table.add(row, check(row));
    if (auto row = table.launch_vendor("cuCopy", [&](float* C) { right(C, count); }))
      table.add(row, check(row));
    return table.finish();
  });
}

/// One sentence on stderr, status 2, and no table.
inline void check_refused(const Ended& ended, const Words& parts) {
  INFO("stdout: " << ended.out << "\nstderr: " << ended.err);
  CHECK(ended.status == 2);
  for (const std::string& part : parts) CHECK_THAT(ended.err, ContainsSubstring(part));
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK_THAT(ended.out, !ContainsSubstring("max error"));
}

inline std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) return line;
  return "";
}

}  // namespace tutorial::copies
