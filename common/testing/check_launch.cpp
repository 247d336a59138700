// What the chapters' tests share: one launch, checked from all sides.
#include "common/testing/testing.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial {

std::string wanted_step() {
  const char* step = std::getenv("TUTORIAL_STEP");
  return step == nullptr ? "" : step;
}

bool is_edited(const std::string& step) {
  static const char* const text = std::getenv("TUTORIAL_EDITED");
  static const std::string list = text == nullptr ? "" : "," + std::string(text) + ",";
  return !step.empty() && list.find("," + step + ",") != std::string::npos;
}

bool is_in_sample(const std::string& step) {
  if (is_edited(step)) return true;
  static const char* const text = std::getenv("TUTORIAL_SAMPLE");
  static const bool all = text == nullptr || std::getenv("TUTORIAL_ALL") != nullptr;
  static const int apart = all ? 1 : std::max(1, std::atoi(text));
  // By chance: a test of three shapes a step would meet the same one in each step if every third
  // were taken.
  using Days = std::chrono::duration<int64_t, std::ratio<86400>>;
  static std::minstd_rand chance(static_cast<uint32_t>(
      std::chrono::floor<Days>(std::chrono::system_clock::now()).time_since_epoch().count()));
  return chance() % static_cast<uint32_t>(apart) == 0;
}

bool is_smaller_than_h100() {
  constexpr int H100_BYTES = 227 * 1024;
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < H100_BYTES;
}

bool is_device_too_small(const std::string& step, const std::function<void()>& launch) {
  try {
    launch();
  } catch (const DeviceTooSmall&) {
    if (!is_smaller_than_h100()) throw;
    note_skipped_step(step, "sizes that need more shared memory a block than this device allows");
    return true;
  }
  return false;
}

namespace {

/// What the checks found, or else what CUDA says. A later test must not meet this one's error.
std::string reason_of(const CudaError& error) {
  const std::string finding = last_finding();
  cudaGetLastError();
  return finding.empty() ? error.what() : finding + ", above";
}

}  // namespace

Counts counts_of(const std::function<void()>& launch) {
  start_profile();
  try {
    launch();
    CUDA_CHECK_LAUNCH();
    CUDA_CHECK(cudaDeviceSynchronize());
  } catch (const CudaError& error) {
    FAIL(reason_of(error));
  }
  Counts counts;
  for (const KernelProfile& kernel : take_profile(false)) counts += kernel.total;
  return counts;
}

std::vector<int64_t> all_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

namespace {

/// Does "block (1,0) thread (3,4)  step2.cu:41 …" name who `says` names, "block (1,0), thread
/// (3,4)"?
bool is_named(const std::string& says, const std::string& writer) {
  const size_t comma = says.find("), ");
  return writer.starts_with(
      comma == says.npos ? says : says.substr(0, comma + 1) + says.substr(comma + 2));
}

/// A report names the block and the thread of an element by the tile that the list of steps says:
/// they should be those that wrote it. Tried for some elements in CI, and not where somebody tries
/// another kernel that is right, too; on a GPU nobody knows who wrote, and on a small grid blocks
/// have several tiles.
void check_owners(const Layout& layout) {
  if (std::getenv("TUTORIAL_STRICT") == nullptr || grid_limit.x < GridLimit().x ||
      grid_limit.y < GridLimit().y)
    return;
  const int64_t count = layout.batch * layout.rows * layout.cols;
  static std::minstd_rand chance;
  for (int i = 0; i < 16 && count > 0; ++i) {
    const int64_t element = std::uniform_int_distribution<int64_t>(0, count - 1)(chance);
    const std::string says = owner_of(layout, element), writer = layout.writer(element);
    if (says.empty() || writer.empty()) return;
    if (is_named(says, writer)) continue;
    FAIL_CHECK("the list's tile says that element " << element << " belongs to " << says
                                                    << ", and it was written by " << writer);
    return;
  }
}

template <class T>
void check_output(const std::function<void(T*)>& launch, const Expected& want, const Layout& layout,
                  int64_t offset, const std::vector<T>& initial) {
  try {
    DeviceBuffer<T> output(layout.batch * layout.rows * layout.cols, offset);
    if (!initial.empty()) output.from_host(initial);
    launch(output.data());
    CUDA_CHECK_LAUNCH();
    Layout known = layout;
    known.writer = [&](int64_t element) { return last_writer(output.data() + element); };
    const Comparison comparison = compare(widened<T>(output.to_host()), want, known);
    // The report alone says what is wrong; the expression around a CHECK would add nothing.
    if (comparison.ok) {
      SUCCEED();
      check_owners(known);
    } else {
      FAIL_CHECK(comparison.report);
    }
    if (!output.guards_intact())
      FAIL_CHECK("the kernel wrote outside of " << layout.name << ", just before or after it");
  } catch (const CudaError& error) {
    FAIL_CHECK(reason_of(error));
    if (cudaDeviceSynchronize() != cudaSuccess)
      FAIL_CHECK(
          "after this error the device does nothing more for this process: expect every "
          "later test to fail too");
  }
}

}  // namespace

void check_launch(const std::function<void(float*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset, const std::vector<float>& initial) {
  check_output(launch, want, layout, offset, initial);
}
void check_launch(const std::function<void(__nv_bfloat16*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset) {
  check_output(launch, want, layout, offset, {});
}
void check_launch(const std::function<void(__half*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset) {
  check_output(launch, want, layout, offset, {});
}

}  // namespace tutorial
