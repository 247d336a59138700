// What every step asks global memory for, beside its header's formula; and what a mask saves.
#include "common/testing/asked_for.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "common/program/cost_model.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

std::map<std::string, int64_t> symbols(const Attention& a) {
  return {{"B", a.B},   {"NH", a.NH}, {"NH_kv", a.NH_kv},       {"Tq", a.Tq},
          {"Tk", a.Tk}, {"HS", a.HS}, {"s", square_size(a.HS)}, {"b", tile_rows(a.HS)}};
}

TEST_CASE("backward: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const SmallSharedMemory small(GENERATE(1024, 99, 64) * 1024);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 20, .Tk = 10, .HS = 64, .causal = false},
           {.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 72, .causal = false}}) {
    if (is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    OnDevice on(step, normal_problem(a));
    check_asked_for(symbols(a), [&] { on.launch(); });
  }
}

/// How many queries and keys the tiles have, all together, that a mask hides from end to end, where
/// a tile has so many of either.
struct Hidden {
  int64_t queries = 0, keys = 0;
};
Hidden hidden_tiles(const Attention& shape, int64_t of_queries, int64_t of_keys) {
  Hidden hidden;
  for (int64_t i0 = 0; i0 < shape.Tq; i0 += of_queries)
    for (int64_t j0 = 0; j0 < shape.Tk; j0 += of_keys) {
      const int64_t queries = std::min(of_queries, shape.Tq - i0);
      if (shape.visible_keys(i0 + queries - 1) > j0) continue;
      hidden.queries += queries;
      hidden.keys += std::min(of_keys, shape.Tk - j0);
    }
  return hidden;
}

/// What the mask saves: of the kernel with keys outside q and dout, of the other one k and v; and
/// lse and D, which step 2 reads for each pair, the others for each tile.
struct Saved {
  int64_t loads, stores;
};
Saved saved_by(const Step<Launcher>& step, const Attention& shape) {
  const int64_t HS = shape.HS, rows = tile_rows(HS), cols = tile_cols(HS);
  int64_t pairs = 0;
  for (int64_t i = 0; i < shape.Tq; ++i) pairs += shape.Tk - shape.visible_keys(i);
  if (step.launch == &unfused) return {.loads = 4 * pairs, .stores = 0};  // lse alone
  if (step.launch == &fused) {
    const Hidden both = hidden_tiles(shape, square_size(HS), square_size(HS));
    return {.loads = 8 * HS * (both.queries + both.keys) + 2 * 8 * pairs, .stores = 0};
  }
  const int64_t queries = hidden_tiles(shape, cols, rows).queries;
  if (step.launch == &register_tiles)
    return {.loads = 8 * (HS + 1) * queries + 8 * HS * hidden_tiles(shape, rows, cols).keys,
            .stores = 0};
  return {.loads = 8 * (HS + 1) * queries + 4 * HS * queries, .stores = 4 * HS * queries};
}

TEST_CASE("backward: every fused step leaves out the tiles that the mask hides", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  const SmallSharedMemory small(GENERATE(1024, 99, 64) * 1024);
  const Attention shape = {.Tq = 97, .Tk = 129, .HS = 68};
  if (is_too_large_here(step, shape)) return;
  CAPTURE(step.name);
  OnDevice on(step, normal_problem(shape));
  start_profile();
  on.launch();
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto exact = symbols(shape);
  const std::map<std::string, double> values(exact.begin(), exact.end());
  double loads = 0, stores = 0;  // what the headers say beyond what is counted
  for (const KernelProfile& kernel : take_profile(true)) {
    const std::optional<CostModel> model = read_cost_model(kernel.path, kernel.kernel);
    REQUIRE(model);
    const auto launches = static_cast<double>(kernel.launches);
    loads +=
        launches * evaluate(model->loads, values) - static_cast<double>(kernel.total.loads.bytes);
    stores +=
        launches * evaluate(model->stores, values) - static_cast<double>(kernel.total.stores.bytes);
  }
  const Saved saved = saved_by(step, shape);
  CHECK(loads == static_cast<double>(saved.loads));
  CHECK(stores == static_cast<double>(saved.stores));
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
