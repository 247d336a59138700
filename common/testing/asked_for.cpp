#include "common/testing/asked_for.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <sstream>

#include "common/backend/backend.hpp"
#include "common/backend/profile.hpp"
#include "common/kernel/check.hpp"

namespace tutorial {
namespace {

std::vector<KernelProfile> profile_of(const std::function<void()>& launch, bool with_lines) {
  start_profile();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  return take_profile(with_lines);
}

/// Which lines of a kernel make these accesses: "\n  step2.cu:41 asks for 1024 bytes" and so on.
std::string by_line(const std::function<void()>& launch, const std::string& kernel,
                    Traffic Counts::*of) {
  std::ostringstream text;
  for (const KernelProfile& profile : profile_of(launch, true))
    for (const ProfiledLine& line : profile.lines)
      if (const int64_t bytes = (line.counts.*of).bytes; profile.kernel == kernel && bytes > 0)
        text << "\n  " << std::filesystem::path(line.path).filename().string() << ":" << line.line
             << " asks for " << bytes << " bytes";
  return text.str();
}

void check_bytes(const char* what, int64_t expected, int64_t counted, Allowance allowed,
                 const std::function<std::string()>& lines) {
  const int64_t least = expected - allowed.less;
  const bool fits = counted >= least && counted <= least + allowed.more;
  INFO(what << ": " << expected << " expected, less " << allowed.less << ", at most "
            << allowed.more << " more" << (fits ? "" : lines()));
  CHECK(counted >= least);
  CHECK(counted <= least + allowed.more);
}

}  // namespace

Counts check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                       Allowance loads, Allowance stores) {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  const std::vector<KernelProfile> kernels = profile_of(launch, /*with_lines=*/false);
  CHECK(!kernels.empty());
  Counts all;
  for (const KernelProfile& kernel : kernels) {
    CAPTURE(kernel.kernel);
    all += kernel.total;
    const Asked* by = find_asked(asked, kernel.kernel);
    CHECK(by != nullptr);
    if (by == nullptr) continue;
    check_bytes("loads", by->loads, kernel.total.loads.bytes, loads,
                [&] { return by_line(launch, kernel.kernel, &Counts::loads); });
    check_bytes("stores", by->stores, kernel.total.stores.bytes, stores,
                [&] { return by_line(launch, kernel.kernel, &Counts::stores); });
  }
  return all;
}

int64_t loads_beyond(const std::vector<Asked>& asked, const Counts& counts) {
  int64_t bytes = counts.loads.bytes;
  for (const Asked& by : asked) bytes -= by.loads;
  return bytes;
}

void check_no_conflicts(const Counts& counts) {
  CHECK(counts.shared_loads.conflicts == 0);
  CHECK(counts.shared_stores.conflicts == 0);
}

void check_stores_fill_sectors(const Counts& counts) {
  CHECK(32 * counts.stores.sectors == counts.stores.bytes);
}

}  // namespace tutorial
