#include "common/testing/asked_for.hpp"

#include <catch2/catch_test_macros.hpp>

#include "common/backend/backend.hpp"
#include "common/backend/profile.hpp"
#include "common/kernel/check.hpp"
#include "common/program/cost_model.hpp"

namespace tutorial {
namespace {

void check_formula(const std::string& formula, const std::map<std::string, double>& symbols,
                   int64_t launches, int64_t counted, Allowance allowed) {
  const double stated = evaluate(formula, symbols) * static_cast<double>(launches);
  const double least = stated - static_cast<double>(allowed.less);
  INFO(formula << " = " << stated << ", less " << allowed.less << ", at most " << allowed.more
               << " more");
  CHECK(static_cast<double>(counted) >= least);
  CHECK(static_cast<double>(counted) <= least + static_cast<double>(allowed.more));
}

void check_bytes(const char* what, int64_t expected, int64_t counted, Allowance allowed) {
  const int64_t least = expected - allowed.less;
  INFO(what << ": " << expected << " expected, less " << allowed.less << ", at most "
            << allowed.more << " more");
  CHECK(counted >= least);
  CHECK(counted <= least + allowed.more);
}

std::vector<KernelProfile> kernels_of(const std::function<void()>& launch) {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  start_profile();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  return take_profile(true);
}

}  // namespace

void check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                     Allowance loads, Allowance stores) {
  const std::vector<KernelProfile> kernels = kernels_of(launch);
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

void check_asked_for(const std::map<std::string, int64_t>& symbols,
                     const std::function<void()>& launch, Allowance loads, Allowance stores) {
  const std::vector<KernelProfile> kernels = kernels_of(launch);
  CHECK(!kernels.empty());

  const std::map<std::string, double> values(symbols.begin(), symbols.end());
  for (const KernelProfile& kernel : kernels) {
    CAPTURE(kernel.kernel, kernel.path);
    const std::optional<CostModel> model = read_cost_model(kernel.path, kernel.kernel);
    CHECK(model);
    if (!model) continue;
    check_formula(model->loads, values, kernel.launches, kernel.total.loads.bytes, loads);
    check_formula(model->stores, values, kernel.launches, kernel.total.stores.bytes, stores);
  }
}

}  // namespace tutorial
