// The simulator's threads are all there before the first launch, whatever ends after it.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <thread>

#include "common/simulator/world/threads.hpp"

TEST_CASE("a pool is there once each of its threads has begun") {
  std::atomic<size_t> begun = 0, worked = 0;
  simulator::ThreadPool pool(16, [&](size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ++begun;
    return [&] { ++worked; };
  });
  REQUIRE(pool.size() >= 1);
  CHECK(begun == pool.size());
  pool.run(1, [] {});
  CHECK(worked == pool.size());
}
