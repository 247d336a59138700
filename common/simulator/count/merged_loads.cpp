#include "common/simulator/count/merged_loads.hpp"

namespace simulator {
namespace {

constexpr uint32_t kWidest = 16;

/// Do all lanes of `next` read what lies `bytes` behind their part of `first`?
bool follows(const WarpRequest& first, uint32_t bytes, const WarpRequest& next) {
  if (first.lanes != next.lanes || first.bytes != next.bytes) return false;
  for (std::size_t lane = 0; lane < 32; ++lane)
    if (first.lanes >> lane & 1 && next.address[lane] != first.address[lane] + bytes) return false;
  return true;
}

bool is_aligned(const WarpRequest& request, uint32_t bytes) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    if (request.lanes >> lane & 1 && request.address[lane] % bytes != 0) return false;
  return true;
}

}  // namespace

void MergedLoads::load(int warp, uint32_t instruction, const WarpRequest& request) {
  if (warps_.size() <= static_cast<std::size_t>(warp))
    warps_.resize(static_cast<std::size_t>(warp) + 1);
  Run& run = warps_[static_cast<std::size_t>(warp)][instruction];
  if (run.bytes > 0 && run.bytes < kWidest && follows(run.first, run.bytes, request)) {
    run.bytes += request.bytes;
    return;
  }
  end(instruction, run);
  run = {request, request.bytes};
}

int64_t MergedLoads::requests() {
  int64_t sum = 0;
  for (const auto& [instruction, count] : requests_by_instruction()) sum += count;
  return sum;
}

void MergedLoads::end(uint32_t instruction, Run& run) {
  while (run.bytes > 0) {
    WarpRequest request = run.first;
    uint32_t bytes = kWidest;
    while (bytes > request.bytes && (bytes > run.bytes || !is_aligned(request, bytes))) bytes /= 2;
    request.bytes = bytes;
    ++requests_[instruction];
    passes_ += shared_load(request).all;
    run.bytes -= bytes;
    for (uintptr_t& address : run.first.address) address += bytes;
  }
}

void MergedLoads::end_all() {
  for (auto& warp : warps_)
    for (auto& [instruction, run] : warp) end(instruction, run);
}

}  // namespace simulator
