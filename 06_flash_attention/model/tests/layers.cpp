// The kernels that this part brings, each beside its reference in double.
#include "model/layers.hpp"

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

TEST_CASE("model: queries, keys and values go where attention looks for them", "[shapes]") {
  constexpr int64_t CAPACITY = 9;
  for (const int64_t B : {1, 2})
    for (const int64_t heads : {1, 3})
      for (const int64_t size : {1, 33})
        for (const int64_t T : {0, 1, 4})
          for (const int64_t first : {0, 5}) {
            INFO(B << " texts, " << heads << " heads of " << size << ", " << T << " tokens behind "
                   << first);
            const int64_t width = heads * size;
            const std::vector<float> qkv = values_of(B * T * 3 * width, 1),
                                     bias = values_of(3 * width, 2);
            const DeviceBuffer<float> qkv_there(qkv), bias_there(bias);
            DeviceBuffer<float> q(B * heads * T * size), k(B * heads * CAPACITY * size),
                v(B * heads * CAPACITY * size);
            split_heads({B, heads, size, T, first, CAPACITY}, qkv_there.data(), bias_there.data(),
                        q.data(), k.data(), v.data());
            // What is not written stays NaN.
            Expected want[3];
            for (int which = 0; which < 3; ++which)
              for (int64_t of_all = 0; of_all < B * heads; ++of_all)
                for (int64_t t = which == 0 ? first : 0; t < (which == 0 ? first + T : CAPACITY);
                     ++t)
                  for (int64_t d = 0; d < size; ++d) {
                    const int64_t text = of_all / heads, row = text * T + t - first;
                    const int64_t column = which * width + of_all % heads * size + d;
                    const bool is_new = t >= first && t < first + T;
                    const double value =
                        is_new ? double{qkv[row * 3 * width + column]} + bias[column] : NAN;
                    want[which].value.push_back(value);
                    want[which].bound.push_back(0x1p-24 * std::abs(value));
                  }
            const Layout of_q = layout_of({B * heads * T, size}, "q"),
                         of_k = layout_of({B * heads * CAPACITY, size}, "k");
            CHECK(compare(q.to_host(), want[0], of_q).report == "");
            CHECK(compare(k.to_host(), want[1], of_k).report == "");
            CHECK(compare(v.to_host(), want[2], of_k).report == "");
            CHECK((q.guards_intact() && k.guards_intact() && v.guards_intact()));
          }
}

}  // namespace
}  // namespace tutorial::flash_attention::model
