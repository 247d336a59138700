// The rules for sectors and bank conflicts against what a GPU's counters said of the same accesses.
#include "common/simulator/count/warp_request.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>
#include <string>

using namespace simulator;

namespace {

/// A warp that asks for `stride` bytes apart.
WarpRequest strided(uint32_t bytes, uintptr_t stride, uint32_t lanes = 0xffffffff) {
  WarpRequest request{lanes, bytes, {}};
  for (size_t lane = 0; lane < 32; ++lane) request.address[lane] = 4096 + lane * stride;
  return request;
}

}  // namespace

TEST_CASE("sectors and wavefronts are what an H100 counted") {
  std::ifstream file(TUTORIAL_SOURCE_DIR "/docs/results/NVIDIA_H100_80GB_HBM3/access_patterns.csv");
  std::string line;
  std::getline(file, line);  // the heads
  int patterns = 0;
  while (std::getline(file, line)) {
    INFO(line);
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    WarpRequest request;
    words >> request.bytes >> std::hex >> request.lanes >> std::dec;
    for (uintptr_t& address : request.address) words >> address;
    int load_passes, load_conflicts, store_passes, store_conflicts, stored;
    words >> load_passes >> load_conflicts >> store_passes >> store_conflicts >> stored;
    REQUIRE(words);

    const Wavefronts load = shared_load(request), store = shared_store(request);
    CHECK(load.all == load_passes);
    CHECK(load.all - load.least == load_conflicts);
    CHECK(store.all == store_passes);
    CHECK(store.all - store.least == store_conflicts);
    CHECK(sectors(request) == stored);
    ++patterns;
  }
  CHECK(patterns == 120);
}

TEST_CASE("wavefronts of ldmatrix and stmatrix are what an H200 counted") {
  std::ifstream file(TUTORIAL_SOURCE_DIR "/docs/results/NVIDIA_H200/matrix_patterns.csv");
  std::string line;
  std::getline(file, line);  // the heads
  int patterns = 0;
  while (std::getline(file, line)) {
    INFO(line);
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    std::string word;
    int matrices, passes, conflicts;
    WarpRequest request;
    words >> word >> matrices;
    for (uintptr_t& address : request.address) words >> address;
    words >> passes >> conflicts;
    REQUIRE(words);

    request.bytes = 16;
    request.lanes = 0xffffffff >> (32 - 8 * matrices);
    const Wavefronts wavefronts = shared_rows(request);
    CHECK(wavefronts.all == passes);
    CHECK(wavefronts.all - wavefronts.least == conflicts);
    ++patterns;
  }
  CHECK(patterns == 63);
}

TEST_CASE("sectors of plain accesses") {
  CHECK(sectors(strided(4, 4)) == 4);
  CHECK(sectors(strided(4, 0)) == 1);
  CHECK(sectors(strided(4, 32)) == 32);
  CHECK(sectors(strided(16, 16)) == 16);
  CHECK(sectors(strided(4, 4, 0x1)) == 1);
  WarpRequest shifted = strided(4, 4);
  for (uintptr_t& address : shifted.address) address += 4;
  CHECK(sectors(shifted) == 5);
}

TEST_CASE("16-byte copies are counted by 8 lanes and by their wider side") {
  const WarpRequest whole = strided(16, 16);
  WarpRequest shifted = whole;
  for (uintptr_t& address : shifted.address) address += 16;
  CHECK(copy_sectors(whole, whole) == 16);
  CHECK(copy_sectors(shifted, whole) == 20);  // a row of padded_rows that begins 16 bytes off
  CHECK(copy_sectors(whole, shifted) == 20);  // a padded row in shared memory
  CHECK(copy_sectors(strided(16, 0), whole) == 16);  // past the edge all read the same
  CHECK(copy_sectors(strided(16, 0, 0xff), strided(16, 16, 0xff)) == 4);
}

TEST_CASE("atomics on one address take turns") {
  CHECK(atomic_sectors(strided(4, 0)) == 32);
  CHECK(atomic_sectors(strided(4, 4)) == 4);
}
