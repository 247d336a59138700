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

void check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                     Allowance loads, Allowance stores) {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  start_profile();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<KernelProfile> kernels = take_profile(/*with_lines=*/false);
  CHECK(!kernels.empty());
  for (const KernelProfile& kernel : kernels) {
    CAPTURE(kernel.kernel);
    const Asked* by = find_asked(asked, kernel.kernel);
    CHECK(by != nullptr);
    if (by == nullptr) continue;
    check_bytes("loads", by->loads, kernel.total.loads.bytes, loads);
    check_bytes("stores", by->stores, kernel.total.stores.bytes, stores);
  }
}

}  // namespace tutorial
