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
#include "common/program/chapter.hpp"
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

inline Ended run_parts(Words arguments, const std::vector<Part>& parts) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const Capture out(std::cout), err(std::cerr);
  const int status = run_chapter(static_cast<int>(argv.size()), argv.data(), "99_copies", parts);
  return {status, out.text(), err.text()};
}

inline Ended run_program(const Words& arguments, const std::function<void(Chapter&)>& body) {
  return run_parts(arguments, {{"", "Copies the right values, or others.", body}});
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

/// What the chapter saw, for tests of the options.
struct Seen {
  int64_t M = -1, N = -1, K = -1, heads = -1, kv_heads = -1;
  bool full = false;
  std::string mask = "none";
  double beta = 0.5;
  uint64_t seed = 0;
  int repeats = 0;
  std::vector<float> a, b;
};

inline Ended run_copies(const Words& arguments, const std::vector<Step<Launcher>>& steps = {kRight},
                        Seen* seen = nullptr) {
  return run_program(arguments, [&](Chapter& chapter) {
    Seen own;
    Seen& s = seen == nullptr ? own : *seen;
    chapter.size("--m", s.M, {3, 3}, "rows of C");
    chapter.size("--n", s.N, {40, 4}, "columns of C");
    chapter.size("--k", s.K, {5, 5}, "columns of A");
    chapter.size("--heads", s.heads, {2, 2}, "heads");
    chapter.size_like("--kv-heads", s.kv_heads, "--heads", "heads of K and V");
    chapter.flag("--full,!--causal", s.full, "no mask, or the causal one");
    chapter.text("--mask", s.mask, "which mask");
    chapter.number("--beta", s.beta, "factor of the old C");
    Input& a = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix");
    Input& b = chapter.input("b", {{"--k"}, {"--n"}}, "the right matrix");
    chapter.input("qkv", {{"--m"}, {"--heads", 3}}, "three in one");
    chapter.steps(steps);
    chapter.parse();
    s.seed = chapter.seed();
    s.repeats = chapter.repeats();

    const auto count = s.M * s.N;
    chapter.problem("C[M×N] = i / 2", {.flop = 1e3, .bytes = 4e3}, {s.M, s.N});
    s.a = a.host();
    s.b = b.host();
    chapter.check_with([&](std::span<const float> got, const Layout& layout) {
      const std::vector<float> values = right_values(count);
      return compare(
          got, {{values.begin(), values.end()}, std::vector<double>(values.size(), 1e-6)}, layout);
    });
    for (const auto& step : steps) chapter.run(step, [&](float* C) { step.launch(C, count); });
    chapter.vendor("cuCopy", [&](float* C) { right(C, count); });
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
