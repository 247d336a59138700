// --trace: one launch of a step's kernel as a file, for figures that show it step by step. What
// stands in the file: docs/simulator.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"

namespace tutorial {

class Options;      // options.hpp
struct RunOutcome;  // row.hpp

/// A trace with more is of no use to anyone: its file would have some 100 MB.
inline constexpr int64_t kMostTraceEvents = 1'000'000;

/// What was run.
struct TraceHead {
  std::string program, step;
  std::string options;  // without those that this head has, or that name files
  int64_t seed;
};

/// The arrays that are an input or the output of the program get its shape.
void give_shapes(LaunchTrace& trace, const Options& options, const void* output,
                 const std::vector<int64_t>& output_shape);

/// The file: JSON, with one event a line.
std::string trace_text(const TraceHead& head, const LaunchTrace& trace);

/// "--m 20 --n 20" of a command line.
std::string words_of_trace(const std::vector<std::string>& words);

/// "the kernel failed": where there is none, to go behind "because".
std::string why_no_trace(const std::string& step, const std::string& kernel,
                         const RunOutcome& outcome);

}  // namespace tutorial
