#include "common/testing/asked_for.hpp"

#include <catch2/catch_test_macros.hpp>

#include "common/backend/backend.hpp"
#include "common/backend/profile.hpp"
#include "common/kernel/check.hpp"

namespace tutorial {
namespace {

void check_bytes(const char* what, int64_t expected, int64_t counted, Allowance allowed) {
  const int64_t least = expected - allowed.less;
  INFO(what << ": " << expected << " expected, less " << allowed.less << ", at most "
            << allowed.more << " more");
  CHECK(counted >= least);
  CHECK(counted <= least + allowed.more);
}

}  // namespace

Counts check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                       Allowance loads, Allowance stores) {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  start_profile();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<KernelProfile> kernels = take_profile(/*with_lines=*/false);
  CHECK(!kernels.empty());
  Counts all;
  for (const KernelProfile& kernel : kernels) {
    CAPTURE(kernel.kernel);
    all += kernel.total;
    const Asked* by = find_asked(asked, kernel.kernel);
    CHECK(by != nullptr);
    if (by == nullptr) continue;
    check_bytes("loads", by->loads, kernel.total.loads.bytes, loads);
    check_bytes("stores", by->stores, kernel.total.stores.bytes, stores);
  }
  return all;
}

void check_no_conflicts(const Counts& counts) {
  CHECK(counts.shared_loads.conflicts == 0);
  CHECK(counts.shared_stores.conflicts == 0);
}

void check_stores_fill_sectors(const Counts& counts) {
  CHECK(32 * counts.stores.sectors == counts.stores.bytes);
}

}  // namespace tutorial
