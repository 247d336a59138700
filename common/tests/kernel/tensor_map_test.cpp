// What TMA takes, and what is said of the rest.
#include "common/kernel/tensor_map.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace tutorial {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Of floats.
struct Array {
  uintptr_t begin = 256;
  std::vector<uint64_t> extents = {64, 10}, strides = {64};
  std::vector<uint32_t> box = {32, 8};
  Swizzle swizzle = Swizzle::bytes_128;

  std::string why_not() const {
    return why_no_tensor_map(reinterpret_cast<const void*>(begin), sizeof(float), extents, strides,
                             box, swizzle);
  }
};

TEST_CASE("an array has a tensor map, or a sentence says why not") {
  constexpr uint64_t most = uint64_t{1} << 32;
  for (const Array& array :
       {Array{}, {.extents = {64}, .strides = {}, .box = {32}}, {.extents = {64, most}}})
    CHECK(array.why_not() == "");
  for (const Array& array : std::vector<Array>{{.extents = {}, .strides = {}, .box = {}},
                                               {.extents = {64, 1, 1, 1, 1, 1},
                                               .strides = {64, 64, 64, 64, 64},
                                               .box = {32, 1, 1, 1, 1, 1}},
                                               {.strides = {}},
                                               {.box = {32}}})
    CHECK_THAT(array.why_not(), ContainsSubstring("it has one to five dimensions"));
  CHECK_THAT(Array{.begin = 264}.why_not(), ContainsSubstring("begin at a multiple of 16 bytes"));
  for (const uint64_t extent : {uint64_t{0}, most + 1})
    CHECK_THAT((Array{.extents = {64, extent}}.why_not()), ContainsSubstring("1 to 2^32"));
  CHECK_THAT(Array{.strides = {66}}.why_not(), ContainsSubstring("and one is 264"));
  CHECK_THAT(Array{.strides = {most * 64}}.why_not(), ContainsSubstring("16 bytes below 2^40"));
  for (const uint32_t side : {0u, 257u})
    CHECK_THAT((Array{.box = {32, side}}.why_not()),
               ContainsSubstring("a side of the box is 1 to 256, and one is"));
  CHECK_THAT((Array{.box = {6, 8}}.why_not()), ContainsSubstring("of 16 bytes, and is 24"));
  // A row of 144 bytes is as long as it likes without a swizzle.
  for (const Swizzle swizzle : {Swizzle::bytes_128, Swizzle::bytes_64, Swizzle::bytes_32})
    CHECK_THAT((Array{.box = {36, 8}, .swizzle = swizzle}.why_not()),
               ContainsSubstring("swizzle's " + std::to_string(bytes_of(swizzle)) + " bytes"));
  CHECK(Array{.box = {36, 8}, .swizzle = Swizzle::none}.why_not() == "");
  const float* const nowhere = nullptr;
  CHECK_THROWS_WITH(tensor_map(nowhere, {0}, {}, {32}),
                    ContainsSubstring("no tensor map for this array: an extent is 1 to 2^32"));
}

TEST_CASE("a swizzle without pieces that change places has rows of one") {
  const std::vector<int> bytes = {16, 128, 64, 32};  // as wgmma numbers them
  for (int number = 0; number < 4; ++number)
    CHECK(bytes_of(static_cast<Swizzle>(number)) == bytes[number]);
}

}  // namespace
}  // namespace tutorial
