#include "common/simulator/count/footprint.hpp"

#include <unordered_set>

namespace simulator {
namespace {

constexpr uintptr_t kSector = 32, kLine = 128;

/// Calls f(piece) for the different pieces of so many bytes that the addresses of a request are in.
template <class F>
void for_each_piece(uintptr_t bytes, const WarpRequest& request, const F& f) {
  Distinct seen;
  for (size_t lane = 0; lane < 32; ++lane) {
    if (!(request.lanes >> lane & 1)) continue;
    const uintptr_t piece = request.address[lane] / bytes;
    if (seen.insert(piece)) f(piece);
  }
}

}  // namespace

void Footprint::add(std::vector<uintptr_t>& sectors, uintptr_t begin, uintptr_t end) {
  for (uintptr_t sector = begin / kSector; sector * kSector < end; ++sector)
    if (sectors.empty() || sectors.back() != sector) sectors.push_back(sector);
}

void Footprint::count_lines(const WarpRequest& request) {
  for_each_piece(kLine, request, [&](uintptr_t) { ++lines_; });
}

void Footprint::load(int warp, const WarpRequest& request) {
  count_lines(request);
  if (warps_.size() <= static_cast<size_t>(warp)) warps_.resize(static_cast<size_t>(warp) + 1);
  Warp& self = warps_[static_cast<size_t>(warp)];
  for_each_piece(kSector, request, [&](uintptr_t sector) {
    ++self.now;
    const auto [known, is_new] = self.last.try_emplace(sector, self.now);
    if (is_new) loaded_.push_back(sector);
    for (size_t i = 0; i < self.missed.size(); ++i)
      self.missed[i] += is_new || (self.now - known->second) * static_cast<int64_t>(kSector) >
                                      tutorial::kShareOfL1[i];
    known->second = self.now;
  });
}

void Footprint::load_past_l1(uintptr_t begin, uintptr_t end) {
  add(loaded_, begin, end);
  past_l1_ += static_cast<int64_t>((end + kSector - 1) / kSector - begin / kSector);
}
void Footprint::load_past_l1(const WarpRequest& request) {
  for_each_piece(kSector, request, [&](uintptr_t sector) {
    if (loaded_.empty() || loaded_.back() != sector) loaded_.push_back(sector);
    ++past_l1_;
  });
}
void Footprint::store(uintptr_t begin, uintptr_t end) {
  add(stored_, begin, end);
}
void Footprint::store(const WarpRequest& request) {
  count_lines(request);
  for_each_piece(kSector, request, [&](uintptr_t sector) { stored_.push_back(sector); });
}

std::array<double, 3> Footprint::missed_l1() const {
  double of_warps = 0;
  std::array<double, 3> missed{};
  std::unordered_set<uintptr_t> all;
  for (const Warp& warp : warps_) {
    of_warps += static_cast<double>(warp.last.size());
    for (const auto& [sector, when] : warp.last) all.insert(sector);
    for (size_t i = 0; i < missed.size(); ++i) missed[i] += static_cast<double>(warp.missed[i]);
  }
  for (double& one : missed) one *= of_warps > 0 ? static_cast<double>(all.size()) / of_warps : 0;
  return missed;
}

}  // namespace simulator
