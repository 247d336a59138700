// What the tests of the part share: a problem, and a step's answer to it.
#pragma once

#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "common/testing/testing.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
inline constexpr float INF = INFINITY, NOT = NAN;

/// What a step finds.
struct Answer {
  std::vector<float> out, values;
};

struct Problem {
  Search search;
  std::vector<float> A, B;
  int64_t offset = 0;  // in floats, of everything, from an address that is a multiple of 256
};

inline Problem random_problem(Search s, Init init = Init::normal) {
  return {s, make_values({s.M, s.D}, init, 1), make_values({s.N, s.D}, init, 2)};
}

/// Whole numbers from -3 to 3: their products are exact in float32, and many are equal.
inline Problem whole_problem(Search s) {
  Problem p = random_problem(s, Init::uniform);
  for (auto* values : {&p.A, &p.B})
    for (float& value : *values) value = std::floor(value * 3.5f + 0.5f);
  return p;
}

/// Is rounding an excuse?
enum class Rounding { some, none };

/// A ROUNDED step's distances are rounded: an excuse even where no product is.
inline Rounding none_but_of_distances(const Step<Launcher>& step) {
  return (step.features & ROUNDED) != 0 ? Rounding::some : Rounding::none;
}

/// Is every |a|² and |b|² below 2^116, or NaN?
inline bool is_ordinary(const Problem& p) {
  for (const auto* matrix : {&p.A, &p.B})
    for (size_t first = 0; first < matrix->size(); first += p.search.D) {
      double norm = 0;
      for (int64_t d = 0; d < p.search.D; ++d)
        norm += double{(*matrix)[first + d]} * (*matrix)[first + d];
      if (norm >= 0x1p116) return false;
    }
  return true;
}

/// Can the step do the search, and has it all that it needs to answer it?
inline bool answers(const Step<Launcher>& step, const Problem& p) {
  return can_do(step, p.search) && ((step.features & ROUNDED) == 0 || is_ordinary(p));
}

/// What a step from 8 on found worth a look, and what it could not prove.
struct Found {
  std::vector<int> candidates;  // of each row: how many there are, even without room; else empty
  int64_t doubtful = 0;
};
inline Found found_by(const Step<Launcher>& step, const Problem& p) {
  const Search& s = p.search;
  const DeviceBuffer<float> a(p.A), b(p.B);
  DeviceBuffer<float> out(s.M * s.k), values(s.M * s.k);
  DeviceBuffer<std::byte> memory(workspace_bytes(s, step.launch));
  const Workspace workspace = workspace_in(memory);
  step.launch(s, a.data(), b.data(), out.data(), values.data(), workspace, nullptr);
  const Scratch scratch = scratch_in(workspace, s, step.launch);
  Key doubtful = 0;
  CUDA_CHECK(cudaMemcpy(&doubtful, scratch.doubtful, sizeof doubtful, cudaMemcpyDeviceToHost));
  Found found = {{}, static_cast<int64_t>(doubtful)};
  if (scratch.candidates.count == nullptr) return found;
  found.candidates.resize(s.M);
  CUDA_CHECK(cudaMemcpy(found.candidates.data(), scratch.candidates.count, s.M * sizeof(int),
                        cudaMemcpyDeviceToHost));
  return found;
}

/// Runs the step, and compares.
inline Answer check_step(const Step<Launcher>& step, const Problem& p, Rounding rounding) {
  const Search& s = p.search;
  INFO(step.name << " M=" << s.M << " N=" << s.N << " D=" << s.D << " k=" << s.k
                 << (s.measure == Measure::product ? " product" : " distance") << " offset "
                 << p.offset);
  const DeviceBuffer<float> a(p.A, p.offset), b(p.B, p.offset);
  DeviceBuffer<float> out(s.M * s.k, p.offset), values(s.M * s.k, p.offset);
  DeviceBuffer<std::byte> memory(workspace_bytes(s, step.launch));
  step.launch(s, a.data(), b.data(), out.data(), values.data(), workspace_in(memory), nullptr);
  const Answer got = {out.to_host(), values.to_host()};
  const Expected want =
      reference(s, p.A, p.B, all_rows(s.M),
                rounding == Rounding::some ? std::span(got.out) : std::span<const float>(),
                (step.features & ROUNDED) != 0);
  const Comparison result =
      compare(got.out, want, {.name = "out", .rows = s.M, .cols = s.k, .tile = step.tile});
  if (!result.ok) FAIL_CHECK(result.report);
  CHECK(out.guards_intact());
  CHECK(values.guards_intact());
  CHECK(memory.guards_intact());
  if (!result.ok) return got;
  const Comparison of_points =
      compare(got.values, values_reference(s, p.A, p.B, all_rows(s.M), got.out),
              {.name = "values", .rows = s.M, .cols = s.k, .tile = step.tile});
  if (!of_points.ok) FAIL_CHECK(of_points.report);
  return got;
}

/// The step on all that it can do of these.
inline void check_all(const Step<Launcher>& step, const Problem& p,
                      Rounding rounding = Rounding::some) {
  if (!is_in_sample(step.name)) return;
  Problem each = p;
  for (const Measure measure : {Measure::product, Measure::distance}) {
    each.search.measure = measure;
    if (answers(step, each)) check_step(step, each, rounding);
  }
}

inline bool is_too_large_here(const Step<Launcher>& step) {
  Search s = {.M = 0, .N = 1, .D = 1};
  if ((step.features & DISTANCE) == 0) s.measure = Measure::product;
  return is_device_too_small(
      step.name, [&] { step.launch(s, nullptr, nullptr, nullptr, nullptr, {}, nullptr); });
}

}  // namespace tutorial::masked_bmm::nearest
