// How long each stage takes: on a GPU by events, in the simulator by the host's clock.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "model/model.hpp"

namespace tutorial::flash_attention::model {

class StageTimes {
 public:
  ~StageTimes();
  /// Measures what it runs.
  RunStage run();
  /// Names and milliseconds, stages of one name added up, in the order of their first run.
  struct Time {
    std::string stage;
    int64_t launches = 0;
    double ms = 0;
  };
  /// Waits for the device. What it gives it forgets.
  std::vector<Time> take();

 private:
  cudaEvent_t recorded();

  struct Span {
    std::string stage;
    cudaEvent_t begin = nullptr, end = nullptr;  // on a GPU
    double ms = 0;                               // in the simulator
  };
  std::vector<Span> spans_;
  std::vector<cudaEvent_t> events_;
  size_t used_ = 0;  // of the events
};

/// The table: milliseconds for the prompt, and for each of the `tokens` after it.
std::string stage_table(const std::vector<StageTimes::Time>& prompt,
                        const std::vector<StageTimes::Time>& tokens, int64_t count);

}  // namespace tutorial::flash_attention::model
