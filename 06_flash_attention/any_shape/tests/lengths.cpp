// Padded batches: each sequence has a length of its own.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "any_shape/any_shape.hpp"
#include "common/kernel/error.hpp"
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

TEST_CASE("steps with lengths are right for padded batches", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  const auto check = [&](const Problem& problem) { check_step(step, problem); };
  for_lengths(32, 64, 24, true, check);
  for_lengths(16, 128, 136, false, check);
  for_lengths(4, 16, 5, true, check);
}

TEST_CASE("steps with lengths ask for what is there, and no more", "[counts]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  Attention a = {.B = 4, .NH = 2, .NH_kv = 1, .Tq = 70, .Tk = 90, .HS = 24};
  const std::vector<int64_t> queries = {0, 70, 65, 20}, keys = {20, 90, 80, 33};
  a.lengths = {queries.data(), keys.data()};
  const Problem p = normal_problem(a);
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(a.rows() * a.HS), lse(a.rows());
  const DeviceLengths on_device(a);
  // Two lengths for each of 128 threads in three blocks a head.
  check_asked_for(step,
                  [&](auto run) {
                    return run(on_device.of(a), q.data(), k.data(), v.data(), out.data(),
                               lse.data(), {}, nullptr);
                  },
                  {.more = 2 * 8 * 128 * 3 * 4 * 2});
}

TEST_CASE("steps without lengths refuse them") {
  const auto step = EACH_STEP(steps);
  const auto* some = reinterpret_cast<const int64_t*>(uintptr_t{256});  // never read
  const auto launch = [&] { launch_step(step, {.B = 0, .HS = 8, .lengths = {.keys = some}}); };
  if ((step.features & LENGTHS) != 0)
    CHECK_NOTHROW(launch());
  else
    CHECK_THROWS_MATCHES(launch(), Error,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(
                             "one length for all sequences; take --kernel lengths")));
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
