// What the tests of this chapter and of its part block_lists share: masks, and problems on host
// and device.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "03_masked_bmm.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "mask_options.hpp"
#include "skipped.hpp"

namespace tutorial::masked_bmm {

inline constexpr float INF = std::numeric_limits<float>::infinity();
inline constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t batch, M, N, K;
};

/// (batch or 1) × M × N from a rule.
inline Mask mask_where(int64_t masks, int64_t M, int64_t N,
                       const std::function<bool(int64_t, int64_t, int64_t)>& keep) {
  Mask mask{.keep = {}, .per_batch = masks > 1};
  for (int64_t m = 0; m < masks; ++m)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) mask.keep.push_back(keep(m, i, j));
  return mask;
}

/// 8×8 patches that keep nothing, everything, one corner, or all but one element.
inline Mask patterned(int64_t masks, int64_t M, int64_t N) {
  return mask_where(masks, M, N, [](int64_t m, int64_t i, int64_t j) {
    const int64_t pattern = (m + i / 8 * 3 + j / 8) % 7, place = i % 8 * 8 + j % 8;
    switch (pattern) {
      case 0:
        return false;
      case 1:
        return true;
      case 2:
        return place == 0;
      case 3:
        return place == 63;
      case 4:
        return place != 0;
      case 5:
        return place != 63;
      default:
        return i % 8 < 3;
    }
  });
}

/// One block of rows more than a grid has blocks in y.
inline const int64_t ROWS_BEYOND_GRID = grid_limit.y * BLOCK + 1;
/// Of one column.
inline Mask every_third_row(int64_t M) {
  return mask_where(1, M, 1, [](int64_t, int64_t i, int64_t) { return i % 3 == 0; });
}

/// Half of it kept, and by any nonzero byte: 2, 255, not 1.
inline Mask kept_by_other_bytes(int64_t M, int64_t N) {
  Mask mask = make_mask("random:0.5", 1, M, N, false, 4);
  for (size_t e = 0; e < mask.keep.size(); ++e) mask.keep[e] *= e % 3 == 0 ? 2 : 255;
  return mask;
}

/// A problem on host and device. `Bmm` is a ladder's own problem, `Device` what it keeps of a mask
/// on the device. What is built from the mask comes from the reference, so that a test of a product
/// does not depend on the kernels that build it, which have their own tests:
/// from_reference(Device&, const MaskedBmm&, const Mask&).
template <class Bmm, class Device>
struct ProblemOn {
  Bmm p;
  Mask mask;
  Device device;
  std::vector<float> A, B;
  DeviceBuffer<float> device_A, device_B;

  /// `offset` moves A, B (by floats) and the mask (by bytes) off their alignment.
  ProblemOn(const Shape& shape, Mask the_mask, float fill = -INF, int64_t offset = 0)
      : p(sizes(shape, fill)),
        mask(std::move(the_mask)),
        device(p, mask, offset),
        A(make_values({p.batch, p.M, p.K}, Init::normal, 1)),
        B(make_values({p.batch, p.K, p.N}, Init::normal, 2)) {
    from_reference(device, p, mask);
    upload(offset);
  }
  static Bmm sizes(const Shape& shape, float fill) {
    Bmm p;
    p.batch = shape.batch, p.M = shape.M, p.N = shape.N, p.K = shape.K, p.fill = fill;
    return p;
  }
  /// After a change of A or B.
  void upload(int64_t offset = 0) {
    device_A = DeviceBuffer<float>(A, offset);
    device_B = DeviceBuffer<float>(B, offset);
  }

  template <class AnyStep>
  void check(const AnyStep& step, int64_t offset = 0) {
    if (!is_in_sample(step.name)) return;
    const Layout layout{.batch = p.batch, .rows = p.M, .cols = p.N, .tile = step.tile};
    check_launch([&](float* C) { step.launch(p, device_A.data(), device_B.data(), C); },
                 masked_bmm_reference(p, mask, A, B), layout, offset);
  }
};

/// Compares what a step asks for with its formula, for K and for more of it: problem_of(K) is a
/// problem, most_beyond(problem) the bytes that its masks may add. However long the rows are, these
/// are read once. Gives what was counted for K.
template <class AnyStep, class ProblemOf, class MostBeyond>
Counts check_asked_for_two_K(const AnyStep& step, int64_t K, const ProblemOf& problem_of,
                             const MostBeyond& most_beyond) {
  Counts counts;
  std::optional<int64_t> of_masks;
  for (const int64_t of_K : {K + 8, K}) {
    CAPTURE(step.name, of_K);
    const auto problem = problem_of(of_K);
    DeviceBuffer<float> C(problem.p.batch * problem.p.M * problem.p.N);
    const auto call = [&](auto run) {
      return run(problem.p, problem.device_A.data(), problem.device_B.data(), C.data());
    };
    const std::vector<Asked> asked = call(step.asked);
    counts = check_asked_for(asked, [&] { call(step.launch); }, {.more = most_beyond(problem)});
    const int64_t beyond = loads_beyond(asked, counts);
    CHECK(of_masks.value_or(beyond) == beyond);
    of_masks = beyond;
  }
  return counts;
}

}  // namespace tutorial::masked_bmm
