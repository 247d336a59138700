// The kernels that this part brings, each beside its reference in double.
#include "model/layers.hpp"

#include <catch2/catch_template_test_macros.hpp>

#include "common/data/narrow.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::model {
namespace {

struct Shape {
  int64_t rows, width;
};
const std::vector<Shape> SHAPES = {{1, 1},   {3, 2},   {2, 31},   {1, 32},  {5, 33},
                                   {2, 127}, {7, 128}, {3, 129},  {4, 192}, {1, 256},
                                   {2, 257}, {9, 300}, {1, 1025}, {64, 48}, {0, 7}};

Layout layout_of(const Shape& shape, const char* name) {
  return {.name = name, .rows = shape.rows, .cols = shape.width};
}

std::vector<float> values_of(int64_t count, uint64_t seed) {
  return make_values({count}, Init::uniform, seed);
}

/// Rows that round badly: of random numbers, far from zero, almost all equal, all equal, tiny.
std::vector<float> rows_of(const Shape& shape, uint64_t seed) {
  std::vector<float> x = values_of(shape.rows * shape.width, seed);
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t c = 0; c < shape.width; ++c) {
      float& value = x[row * shape.width + c];
      if (row % 5 == 1) value += 1000;
      if (row % 5 == 2) value = 1 + value * 0x1p-20f;
      if (row % 5 == 3) value = 3;
      if (row % 5 == 4) value *= 1e-20f;
    }
  return x;
}

TEST_CASE("model: layer norm, also of rows far from zero and of equal numbers", "[shapes]") {
  for (const Shape& shape : SHAPES) {
    INFO(shape.rows << " rows of " << shape.width);
    const std::vector<float> x = rows_of(shape, 1), gain = values_of(shape.width, 2),
                             shift = values_of(shape.width, 3);
    const DeviceBuffer<float> x_there(x), gain_there(gain), shift_there(shift);
    DeviceBuffer<float> y(shape.rows * shape.width);
    layer_norm(x_there.data(), gain_there.data(), shift_there.data(), y.data(), shape.rows,
               shape.width);
    const Comparison found =
        compare(y.to_host(), reference_layer_norm(x, gain, shift), layout_of(shape, "y"));
    CHECK(found.report == "");
    CHECK(y.guards_intact());
  }
}

TEST_CASE("model: layer norm's bound is no more than what large means take", "[bounds]") {
  // A row of the usual size: the bound is a few units of the result, so that an epsilon left out,
  // or a mean of one number too few, is seen.
  const Shape shape = {4, 192};
  const std::vector<float> x = values_of(shape.rows * shape.width, 5);
  const std::vector<float> ones(192, 1.0f), zeros(192, 0.0f);
  for (const double bound : reference_layer_norm(x, ones, zeros).bound) CHECK(bound < 4e-5);
}

TEST_CASE("model: bias and GELU, from far below zero to far above", "[shapes]") {
  for (const Shape& shape : SHAPES) {
    INFO(shape.rows << " rows of " << shape.width);
    std::vector<float> x = values_of(shape.rows * shape.width, 1);
    const std::vector<float> bias = values_of(shape.width, 2);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(1 << i % 8);
    DeviceBuffer<float> there(x);
    const DeviceBuffer<float> bias_there(bias);
    bias_gelu(there.data(), bias_there.data(), shape.rows, shape.width);
    const Comparison found =
        compare(there.to_host(), reference_bias_gelu(x, bias), layout_of(shape, "gelu"));
    CHECK(found.report == "");
    CHECK(there.guards_intact());
  }
}

TEST_CASE("model: x + y + bias", "[shapes]") {
  for (const Shape& shape : SHAPES) {
    INFO(shape.rows << " rows of " << shape.width);
    const std::vector<float> x = values_of(shape.rows * shape.width, 1),
                             y = values_of(shape.rows * shape.width, 2),
                             bias = values_of(shape.width, 3);
    Expected want;
    for (size_t i = 0; i < x.size(); ++i) {
      const double added = double{y[i]} + bias[i % bias.size()];
      want.value.push_back(x[i] + added);
      want.bound.push_back(0x1p-24 * (std::abs(added) + std::abs(x[i] + added)) * 1.01);
    }
    DeviceBuffer<float> there(x);
    const DeviceBuffer<float> y_there(y), bias_there(bias);
    add_to(there.data(), y_there.data(), bias_there.data(), shape.rows, shape.width);
    CHECK(compare(there.to_host(), want, layout_of(shape, "x")).report == "");
    CHECK(there.guards_intact());
  }
}

TEST_CASE("model: the embedding of bytes that stand anywhere in the text", "[shapes]") {
  constexpr int64_t CONTEXT = 40;
  for (const int64_t width : {1, 31, 192})
    for (const int64_t B : {1, 3})
      for (const int64_t T : {0, 1, 7})
        for (const int64_t first : {0, 1, 33}) {
          INFO(B << " texts, " << T << " bytes of width " << width << " from " << first << " on");
          const std::vector<float> token = values_of(256 * width, 1),
                                   position = values_of(CONTEXT * width, 2);
          std::vector<unsigned char> bytes;
          for (int64_t row = 0; row < B * T; ++row) bytes.push_back(row == 0 ? 255 : row * 37);
          const DeviceBuffer<unsigned char> bytes_there(bytes);
          const DeviceBuffer<float> token_there(token), position_there(position);
          DeviceBuffer<float> x(B * T * width);
          embed(bytes_there.data(), token_there.data(), position_there.data(), x.data(), B, T,
                first, width);
          Expected want;
          for (int64_t row = 0; row < B * T; ++row)
            for (int64_t c = 0; c < width; ++c) {
              want.value.push_back(double{token[bytes[row] * width + c]} +
                                   position[(first + row % T) * width + c]);
              want.bound.push_back(0x1p-24 * std::abs(want.value.back()));
            }
          CHECK(compare(x.to_host(), want, layout_of({B * T, width}, "x")).report == "");
          CHECK(x.guards_intact());
        }
}

constexpr int64_t CAPACITY = 9;
/// Of 1 to 2 texts, 1 to 3 heads, 0 to 4 tokens.
std::vector<Heads> heads_to_test() {
  std::vector<Heads> all;
  for (const int64_t B : {1, 2})
    for (const int64_t heads : {1, 3})
      for (const int64_t size : {1, 33})
        for (const int64_t T : {0, 1, 4})
          for (const int64_t first : {0, 5}) all.push_back({B, heads, size, T, first, CAPACITY});
  return all;
}
std::string text_of(const Heads& shape) {
  return std::to_string(shape.B) + " texts, " + std::to_string(shape.heads) + " heads of " +
         std::to_string(shape.head_size) + ", " + std::to_string(shape.T) + " tokens behind " +
         std::to_string(shape.first);
}
/// Half of what the last bit of a number is worth, for a number 1.
template <class Number>
constexpr double UNIT = std::is_same_v<Number, float> ? 0x1p-24 : 0x1p-8 + 0x1p-24;

template <class Number>
Expected& add_rounded(Expected& want, double value) {
  want.value.push_back(value);
  want.bound.push_back(UNIT<Number> * std::abs(value));
  return want;
}
template <class Number>
std::string difference(const DeviceBuffer<Number>& got, const Expected& want, const Heads& shape,
                       const char* name) {
  const int64_t cols = shape.head_size;
  CHECK(got.guards_intact());
  return compare(widened<Number>(got.to_host()), want, layout_of({got.size() / cols, cols}, name))
      .report;
}

TEMPLATE_TEST_CASE("model: queries, keys and values go where attention looks for them", "[shapes]",
                   float, __nv_bfloat16) {
  for (const Heads& shape : heads_to_test()) {
    INFO(text_of(shape));
    const auto [B, heads, size, T, first, capacity] = shape;
    const int64_t width = heads * size;
    const std::vector<float> qkv = values_of(B * T * 3 * width, 1), bias = values_of(3 * width, 2);
    const DeviceBuffer<float> qkv_there(qkv), bias_there(bias);
    DeviceBuffer<TestType> q(B * heads * T * size), k(B * heads * capacity * size), v(k.size());
    split_heads(shape, qkv_there.data(), bias_there.data(), q.data(), k.data(), v.data());
    // What is not written stays NaN.
    Expected want[3];
    for (int which = 0; which < 3; ++which)
      for (int64_t of_all = 0; of_all < B * heads; ++of_all)
        for (int64_t t = which == 0 ? first : 0; t < (which == 0 ? first + T : capacity); ++t)
          for (int64_t d = 0; d < size; ++d) {
            const int64_t text = of_all / heads, row = text * T + t - first;
            const int64_t column = which * width + of_all % heads * size + d;
            const bool is_new = t >= first && t < first + T;
            add_rounded<TestType>(
                want[which], is_new ? double{qkv[row * 3 * width + column]} + bias[column] : NAN);
          }
    CHECK(difference(q, want[0], shape, "q") == "");
    CHECK(difference(k, want[1], shape, "k") == "");
    CHECK(difference(v, want[2], shape, "v") == "");
  }
}

TEST_CASE("model: out of attention in bf16 becomes rows in float32", "[shapes]") {
  for (const Heads& shape : heads_to_test()) {
    INFO(text_of(shape));
    const auto [B, heads, size, T, first, capacity] = shape;
    const std::vector<float> out = rounded_to<__nv_bfloat16>(values_of(B * heads * T * size, 1));
    const DeviceBuffer<__nv_bfloat16> there(narrowed<__nv_bfloat16>(out));
    DeviceBuffer<float> rows(there.size());
    join_heads(shape, there.data(), rows.data());
    Expected want;  // exactly
    for (int64_t b = 0; b < B; ++b)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t head = 0; head < heads; ++head)
          for (int64_t d = 0; d < size; ++d)
            want.value.push_back(out[((b * heads + head) * T + t) * size + d]);
    want.bound.assign(want.value.size(), 0);
    CHECK(difference(rows, want, shape, "rows") == "");
  }
}

TEST_CASE("model: numbers are rounded to bf16, to nearest even", "[shapes]") {
  for (const int64_t count : {0, 1, 255, 256, 257, 1000}) {
    INFO(count << " numbers");
    std::vector<float> x = values_of(count, 1);
    if (count > 2) x[0] = 1 + 0x1p-8f, x[1] = 1 + 0x3p-8f, x[2] = INFINITY;  // two ties
    const DeviceBuffer<float> there(x);
    DeviceBuffer<__nv_bfloat16> y(count);
    round_to_bf16(there.data(), y.data(), count);
    const std::vector<float> got = widened<__nv_bfloat16>(y.to_host());
    CHECK(got == rounded_to<__nv_bfloat16>(x));
    if (count > 2) CHECK((got[0] == 1 && got[1] == 1 + 0x1p-6f && got[2] == INFINITY));
    CHECK(y.guards_intact());
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::model
