// For the tests of reports: what became of the launch just made.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/run/order.hpp"

using Catch::Matchers::ContainsSubstring;

struct Outcome {
  cudaError_t error = cudaGetLastError();
  std::string report = error == cudaSuccess ? "" : simulator::last_report();
};

/// Puts order and checks back as they were.
struct Restored {
  const uint64_t order = simulator::thread_order();
  const bool checks = simulator::checks_are_on();
  const double patience = simulator::patience(), limit = simulator::launch_limit();
  ~Restored() {
    simulator::set_thread_order(order);
    simulator::switch_checks(checks);
    simulator::set_patience(patience);
    simulator::set_launch_limit(limit);
  }
};

inline int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}
