// The roofline's arithmetic, and numbers as text.
#include "common/measure/roofline.hpp"
#include "common/data/text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "common/backend/backend.hpp"

using namespace tutorial;

TEST_CASE("three digits and a prefix") {
  CHECK(with_prefix(17.18e9, "FLOP") == "17.2 GFLOP");
  CHECK(with_prefix(201.3e6, "B") == "201 MB");
  CHECK(with_prefix(3.0e12, "B/s") == "3.00 TB/s");
  CHECK(with_prefix(66.9e12, "FLOP/s") == "66.9 TFLOP/s");
  CHECK(with_prefix(1000, "B") == "1.00 kB");
  CHECK(with_prefix(0, "B") == "0 B");
  CHECK(with_prefix(8, "B") == "8 B");
  CHECK(with_prefix(512, "B") == "512 B");
  CHECK(with_prefix(0.125, "FLOP") == "0.125 FLOP");
  CHECK(with_prefix(2.5e21, "FLOP") == "2500 EFLOP");
  CHECK(with_prefix(-1234, "B") == "-1.23 kB");
}

TEST_CASE("rounding up takes the next prefix or one digit less") {
  CHECK(with_prefix(999.4e6, "B") == "999 MB");
  CHECK(with_prefix(999.6e6, "B") == "1.00 GB");
  CHECK(with_prefix(99.94e6, "B") == "99.9 MB");
  CHECK(with_prefix(99.96e6, "B") == "100 MB");
  CHECK(with_prefix(9.994e6, "B") == "9.99 MB");
  CHECK(with_prefix(9.996e6, "B") == "10.0 MB");
}

TEST_CASE("the slower of arithmetic and memory bounds a problem") {
  const Ceiling ceiling = {.flop_per_s = 60e12, .bytes_per_s = 3e12};
  CHECK(ceiling.ridge() == 20);

  const Cost matmul = {.flop = 120e12, .bytes = 3e12};
  CHECK(matmul.intensity() == 40);
  CHECK(bound_by_arithmetic(matmul, ceiling));
  CHECK(bound_ms(matmul, ceiling) == 2000);

  const Cost softmax = {.flop = 6e12, .bytes = 6e12};
  CHECK_FALSE(bound_by_arithmetic(softmax, ceiling));
  CHECK(bound_ms(softmax, ceiling) == 2000);

  const Cost nothing = {};
  CHECK(nothing.intensity() == 0);
  CHECK(bound_ms(nothing, ceiling) == 0);
}

TEST_CASE("the ceilings are measured once", "[timing]") {
  if (!device_has_clock()) {
    CHECK_THROWS_AS(measured_ceiling(), std::logic_error);
    return;
  }
  const Ceiling& ceiling = measured_ceiling();
  WARN(with_prefix(ceiling.flop_per_s, "FLOP/s")
       << ", " << with_prefix(ceiling.bytes_per_s, "B/s"));
  // From the smallest GPU that CUDA 12 knows to a few times the largest.
  CHECK(ceiling.flop_per_s > 0.3e12);
  CHECK(ceiling.flop_per_s < 500e12);
  CHECK(ceiling.bytes_per_s > 15e9);
  CHECK(ceiling.bytes_per_s < 30e12);
  CHECK(&measured_ceiling() == &ceiling);
}
