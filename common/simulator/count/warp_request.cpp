#include "common/simulator/count/warp_request.hpp"

#include <algorithm>
#include <bit>

namespace simulator {
namespace {

constexpr uintptr_t kSector = 32, kBanks = 32, kBank = 4;

/// Lanes whose bits differ in `bit` want the same address, wherever both take part.
bool neighbours_agree(const WarpRequest& request, size_t bit) {
  for (size_t lane = 0; lane < 32; ++lane) {
    const bool both = request.lanes >> lane & 1 && request.lanes >> (lane ^ bit) & 1;
    if (both && request.address[lane] != request.address[lane ^ bit]) return false;
  }
  return true;
}

/// The passes when `group` neighbouring lanes are served at a time.
Wavefronts in_groups(const WarpRequest& request, size_t group) {
  Wavefronts wavefronts;
  for (size_t first = 0; first < 32; first += group) {
    Distinct words;
    std::array<int, kBanks> in_bank{};
    int most = 0;
    for (size_t lane = first; lane < first + group; ++lane) {
      if (!(request.lanes >> lane & 1)) continue;
      const uintptr_t begin = request.address[lane] / kBank;
      const uintptr_t end = (request.address[lane] + request.bytes + kBank - 1) / kBank;
      for (uintptr_t word = begin; word < end; ++word)
        if (words.insert(word)) most = std::max(most, ++in_bank[word % kBanks]);
    }
    wavefronts.all += most;
    wavefronts.least += most > 0;
  }
  return wavefronts;
}

/// 32 lanes of 4 bytes, 16 of 8 or 8 of 16 fill the banks once.
size_t lanes_at_a_time(const WarpRequest& request) {
  return 128 / std::max<size_t>(request.bytes, kBank);
}

}  // namespace

int sectors(const WarpRequest& request) {
  Distinct touched;
  for (size_t lane = 0; lane < 32; ++lane) {
    if (!(request.lanes >> lane & 1)) continue;
    const uintptr_t last = (request.address[lane] + request.bytes - 1) / kSector;
    for (uintptr_t s = request.address[lane] / kSector; s <= last; ++s) touched.insert(s);
  }
  return touched.count();
}

int copy_sectors(const WarpRequest& from, const WarpRequest& to) {
  int all = 0;
  for (uint32_t eight = 0xff; eight != 0; eight <<= 8) {
    WarpRequest read = from, written = to;
    read.lanes &= eight, written.lanes &= eight;
    all += std::max(sectors(read), sectors(written));
  }
  return all;
}

int atomic_sectors(const WarpRequest& request) {
  // In turn k every address is served to the k-th lane that wants it.
  int all = 0;
  WarpRequest left = request;
  while (left.lanes != 0) {
    WarpRequest turn = left;
    turn.lanes = 0;
    Distinct served;
    for (size_t lane = 0; lane < 32; ++lane)
      if (left.lanes >> lane & 1 && served.insert(left.address[lane])) turn.lanes |= 1u << lane;
    all += sectors(turn);
    left.lanes &= ~turn.lanes;
  }
  return all;
}

Wavefronts shared_load(const WarpRequest& request) {
  // Of wide loads, two groups go together when neighbours, or next neighbours, want the same.
  size_t group = lanes_at_a_time(request);
  if (group < 32 && (neighbours_agree(request, 1) || neighbours_agree(request, 2))) group *= 2;
  return in_groups(request, group);
}

Wavefronts shared_store(const WarpRequest& request) {
  return in_groups(request, lanes_at_a_time(request));
}

Wavefronts shared_rows(const WarpRequest& request) {
  return in_groups(request, 8);
}

}  // namespace simulator
