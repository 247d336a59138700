// Which path the last steps take: the rules of steps 13, 14 and 15.
#include "common/testing/testing.hpp"
#include "tensor_cores/operands.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

TEST_CASE("tensor cores: rows that are not aligned are copied where that pays") {
  alignas(16) static const bf16 aligned[2] = {};
  const bf16* const odd = aligned + 1;
  CHECK(copies_pay({257, 4099, 3001}, aligned, aligned));
  CHECK(copies_pay({128, 128, 8}, odd, aligned));
  CHECK(!copies_pay({128, 4096, 4096}, aligned, aligned));  // aligned
  CHECK(!copies_pay({127, 4099, 3001}, aligned, aligned));  // each element of B is used too seldom
  CHECK(!copies_pay({4099, 127, 3001}, aligned, aligned));  // … and of A
  CHECK(!copies_pay({129, 129, 0}, aligned, aligned));
  CHECK(copies_pay({256, 258, 4}, aligned, aligned));
  CHECK(!copies_pay({255, 258, 4}, aligned, aligned));  // rows that 4-byte copies can bring
  CHECK(copies_pay({512, 516, 4}, aligned, aligned));
  CHECK(!copies_pay({511, 516, 4}, aligned, aligned));  // … and 8-byte ones
}

TEST_CASE("tensor cores: small_tiles takes them where large ones are fewer than multiprocessors") {
  CHECK(large_tiles_are_few(2048, 2048, 132));  // 128
  CHECK(!large_tiles_are_few(4096, 4096, 132));
  CHECK(large_tiles_are_few(128, 131 * 256, 132));
  CHECK(!large_tiles_are_few(128, 131 * 256 + 1, 132));
}

TEST_CASE("tensor cores: by_shape takes small tiles where large ones leave multiprocessors idle") {
  constexpr int SMS = 132, BYTES = 227 * 1024;  // of an H100 or H200
  CHECK(takes_small_tiles(1024, 1024, SMS, BYTES));
  CHECK(takes_small_tiles(257, 4099, SMS, BYTES));
  CHECK(!takes_small_tiles(1000, 3000, SMS, BYTES));
  CHECK(!takes_small_tiles(2048, 2048, SMS, BYTES));
  CHECK(!takes_small_tiles(4096, 4096, SMS, BYTES));
  CHECK(!takes_small_tiles(8192, 8192, SMS, BYTES));
}

TEST_CASE("tensor cores: by_shape takes small tiles more seldom where two of them do not fit") {
  constexpr int SMS = 132;
  constexpr int64_t BYTES = 2 * 96 * 1024;  // of two small blocks
  CHECK(takes_small_tiles(1024, 1024, SMS, 99 * 1024));
  CHECK(!takes_small_tiles(2048, 2048, SMS, 99 * 1024));
  CHECK(!takes_small_tiles(8192, 8192, SMS, 99 * 1024));
  // 6 small blocks a multiprocessor, 1.95 in pairs and 2.16 one by one, or 2 large ones
  CHECK(takes_small_tiles(2048, 3072, SMS, BYTES));
  CHECK(!takes_small_tiles(2048, 3072, SMS, BYTES - 1));
}

}  // namespace
}  // namespace tutorial::tiled_matmul::tensor_cores
