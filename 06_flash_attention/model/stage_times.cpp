#include "model/stage_times.hpp"

#include <algorithm>
#include <chrono>

#include "common/backend/backend.hpp"
#include "common/data/text.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::flash_attention::model {

StageTimes::~StageTimes() {
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
}

cudaEvent_t StageTimes::recorded() {
  if (used_ == events_.size()) CUDA_CHECK(cudaEventCreate(&events_.emplace_back()));
  CUDA_CHECK(cudaEventRecord(events_[used_]));
  return events_[used_++];
}

RunStage StageTimes::run() {
  return [this](const char* stage, const std::function<void()>& launch) {
    Span span = {.stage = stage};
    if (device_has_clock()) {
      span.begin = recorded();
      launch();
      span.end = recorded();
    } else {
      const auto begin = std::chrono::steady_clock::now();
      launch();
      CUDA_CHECK(cudaDeviceSynchronize());
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      span.ms = took.count();
    }
    spans_.push_back(span);
  };
}

std::vector<StageTimes::Time> StageTimes::take() {
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<Time> times;
  for (const Span& span : spans_) {
    auto time = std::ranges::find(times, span.stage, &Time::stage);
    if (time == times.end()) time = times.insert(times.end(), {.stage = span.stage});
    float ms = static_cast<float>(span.ms);
    if (span.begin != nullptr) CUDA_CHECK(cudaEventElapsedTime(&ms, span.begin, span.end));
    time->ms += ms;
    ++time->launches;
  }
  spans_.clear();
  used_ = 0;
  return times;
}

std::string stage_table(const std::vector<StageTimes::Time>& prompt,
                        const std::vector<StageTimes::Time>& tokens, int64_t count) {
  const auto sum = [](const std::vector<StageTimes::Time>& times) {
    double ms = 0;
    for (const auto& time : times) ms += time.ms;
    return ms;
  };
  const auto padded = [](const std::string& text, size_t width) {
    return std::string(width - std::min(width, screen_width(text)), ' ') + text;
  };
  const auto line = [&](const std::string& stage, const std::string& of_prompt,
                        const std::string& of_token, const std::string& share,
                        const std::string& stages) {
    return stage + std::string(16 - std::min<size_t>(16, screen_width(stage)), ' ') +
           padded(of_prompt, 12) + padded(of_token, 14) + padded(share, 9) + padded(stages, 10) +
           "\n";
  };
  std::string table = line("stage", "prompt, ms", "a token, ms", "share", "a token");
  for (const auto& time : prompt) {
    const auto of_tokens = std::ranges::find(tokens, time.stage, &StageTimes::Time::stage);
    const bool ran = of_tokens != tokens.end() && count > 0;
    table += line(time.stage, three_digits(time.ms),
                  ran ? three_digits(of_tokens->ms / static_cast<double>(count)) : "-",
                  ran ? formatted("%.0f %%", 100 * of_tokens->ms / sum(tokens)) : "-",
                  ran ? std::to_string(of_tokens->launches / count) + " ×" : "-");
  }
  return table + line("all", three_digits(sum(prompt)),
                      count > 0 ? three_digits(sum(tokens) / static_cast<double>(count)) : "-", "",
                      "");
}

}  // namespace tutorial::flash_attention::model
