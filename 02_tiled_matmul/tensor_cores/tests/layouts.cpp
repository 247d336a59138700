// Step layouts: B or its transpose, rows with gaps, several products; and what the other steps say
// of these.
#include "tensor_cores/tests/layouts.hpp"

#include <catch2/matchers/catch_matchers_exception.hpp>

#include "common/testing/program_run.hpp"
#include "tensor_cores/bf16_product.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

using Catch::Matchers::Message;

Step<Launcher> layouts_step() {
  return runnable(steps.back());
}

TEST_CASE("tensor cores: layouts is right for B and its transpose, gaps and batches", "[shapes]") {
  check_layouts(layouts_step(),
                {{37, 45, 29}, {136, 72, 200}, {65, 130, 67}, {1, 1, 1}, {5, 9, 0}, {0, 5, 3}});
}

TEST_CASE("tensor cores: layouts is right with large tiles", "[shapes]") {
  const Step<Launcher> step = layouts_step();
  const FewMultiprocessors one(1);
  for (bool transposed : {false, true}) {
    check_layout(step, {.M = 65, .N = 500, .K = 70, .b_transposed = transposed, .lda = 72});
    check_layout(step, {.M = 65, .N = 504, .K = 202, .b_transposed = transposed, .batch = 2});
    const SmallSharedMemory small(99 * 1024);
    check_layout(step, {.M = 65, .N = 504, .K = 136, .b_transposed = transposed});
  }
}

// Copies of every width, for the address, the rows and the stride.
TEST_CASE("tensor cores: layouts takes any address and any stride", "[shapes]") {
  const Step<Launcher> step = layouts_step();
  const Bf16Product p = {.M = 20, .N = 24, .K = 40, .b_transposed = true};
  for (int64_t offset : {1, 2, 4}) {
    check_layout(step, p, {.a = offset});
    check_layout(step, p, {.b = offset});
    check_layout(step, p, {.c = offset});
    Bf16Product strided = p;
    strided.batch = 2, strided.stride_a = 20 * 40 + offset;
    check_layout(step, strided);
    strided.stride_a = 0, strided.stride_b = 24 * 40 + offset;
    check_layout(step, strided);
    strided.stride_b = 0, strided.stride_c = 20 * 24 + offset;
    check_layout(step, strided);
  }
}

// The rows of the products take turns, as the heads of one sequence do.
// One product in B's own order, of which only one matrix has gaps: it is not plain, and no copies
// are made that leave them out, where copies would pay.
TEST_CASE("tensor cores: layouts sees gaps in one matrix alone", "[shapes]") {
  const Step<Launcher> step = layouts_step();
  const Bf16Product plain = {.M = 130, .N = 131, .K = 9};
  check_layout(step, plain);
  for (int64_t Bf16Product::*ld : {&Bf16Product::lda, &Bf16Product::ldb, &Bf16Product::ldc}) {
    Bf16Product p = plain;
    p.*ld = 137;
    check_layout(step, p);
  }
  // A stride that nothing is multiplied by says nothing of where rows begin.
  check_layout(step, {.M = 12, .N = 24, .K = 16, .stride_a = 3, .stride_b = 5, .stride_c = 7});
}

TEST_CASE("tensor cores: layouts takes matrices whose rows lie between another's") {
  check_layout(layouts_step(), {.M = 20,
                                .N = 24,
                                .K = 40,
                                .b_transposed = true,
                                .lda = 3 * 40,
                                .ldb = 3 * 40,
                                .ldc = 3 * 24,
                                .batch = 3,
                                .stride_a = 40,
                                .stride_b = 40,
                                .stride_c = 24});
}

TEST_CASE("tensor cores: layouts does nothing for no products") {
  const Step<Launcher> step = layouts_step();
  check_layout(step, {.M = 20, .N = 24, .K = 40, .batch = 0});
}

TEST_CASE("tensor cores: layouts stays in its stream, and two launches share nothing") {
  check_layout_in_two_streams(layouts_step(),
                              {.M = 70, .N = 131, .K = 9, .b_transposed = true, .batch = 3});
}

TEST_CASE("tensor cores: layouts asks for what its header says", "[counts]") {
  const Step<Launcher> step = layouts_step();
  if (is_too_large_here(step)) return;
  for (bool transposed : {false, true}) {
    check_layout_asks(step, {.M = 65, .N = 131, .K = 72, .b_transposed = transposed, .batch = 3});
    check_layout_asks(
        step, {.M = 65, .N = 131, .K = 71, .b_transposed = transposed, .lda = 72, .ldb = 136});
    const FewMultiprocessors one(1);
    check_layout_asks(step, {.M = 65, .N = 500, .K = 64, .b_transposed = transposed});
  }
}

// Each matrix of a batch is the first one turned: A's rows by one more, B's columns.
TEST_CASE("tensor cores: the program's matrices of a batch are different ones") {
  const auto numbers = [](int64_t count) {
    std::vector<bf16> X;
    for (int64_t i = 0; i < count; ++i) X.push_back(bf16(static_cast<float>(i + 1)));
    return X;
  };
  const Bf16Product product = {.M = 3, .N = 4, .K = 2, .batch = 3};
  const std::vector<bf16> A = numbers(6), B = numbers(8);
  const std::vector<bf16> all_a = laid_out_a(product, A), all_b = laid_out_b(product, B);
  REQUIRE(all_a.size() == 18);
  REQUIRE(all_b.size() == 24);
  int wrong = 0;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 2; ++k) {
      for (int row = 0; row < 3; ++row)
        wrong += float(all_a[i * 6 + row * 2 + k]) != float(A[(row + i) % 3 * 2 + k]);
      for (int col = 0; col < 4; ++col)
        wrong += float(all_b[i * 8 + k * 4 + col]) != float(B[k * 4 + (col + i) % 4]);
    }
  CHECK(wrong == 0);
  CHECK(laid_out_b({.M = 3, .N = 0, .K = 2, .batch = 3}, {}).empty());
}

TEST_CASE("tensor cores: the program compares products of one row", "[program]") {
  runnable(steps);
  check_all_right(
      run_program({"--m", "1", "--n", "8", "--k", "8", "--batch", "3", "--kernel", "layouts"}),
      {"layouts"}, {.flop = 3 * 128, .bytes = 3 * (2 * (8 + 64) + 4 * 8)});
}

TEST_CASE("tensor cores: the program asks a step about nothing of the type of its C") {
  for (const bool is_c_bf16 : {false, true}) {
    const ProductOptions options = {.product = {3, 4, 5}, .is_c_bf16 = is_c_bf16};
    CHECK(std::holds_alternative<bf16*>(options.no_output()) == is_c_bf16);
    const Bf16Product none = options.no_elements();
    CHECK((none.M == 0 && none.N == 0 && none.K == 0));
  }
}

TEST_CASE("tensor cores: a row that is longer than the distance to the next is refused") {
  const auto message = [](const Bf16Product& product) {
    try {
      spelled_out(product);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message({.M = 3, .N = 5, .K = 7, .lda = 7, .ldb = 5, .ldc = 5}).empty());
  CHECK(message({.M = 3, .N = 5, .K = 7, .lda = 6}) ==
        "lda is 6, and a row has 7 elements; give at least as many, or 0");
  CHECK(message({.M = 3, .N = 5, .K = 7, .ldb = 4}).starts_with("ldb is 4, and a row has 5"));
  CHECK(message({.M = 3, .N = 5, .K = 7, .b_transposed = true, .ldb = 6}).starts_with("ldb is 6"));
  CHECK(message({.M = 3, .N = 5, .K = 7, .ldc = 4}).starts_with("ldc is 4"));
}

TEST_CASE("tensor cores: layouts counts the tiles of all products") {
  const Step<Launcher> step = layouts_step();
  if (is_too_large_here(step)) return;
  CHECK(takes_small_tiles(1024, 1024, 132, 227 * 1024));
  CHECK(!takes_small_tiles(1024, 1024, 132, 227 * 1024, 16));
  const SmallGrid grid(4, 1);
  const DeviceBuffer<bf16> x(8 * 8 * 5);
  DeviceBuffer<float> c(8 * 8 * 5);
  const auto launch = [&](int64_t batch) {
    step.launch({.M = 8, .N = 8, .K = 0, .batch = batch}, x.data(), x.data(), c.data(), {},
                nullptr);
  };
  CHECK_NOTHROW(launch(4));
  CHECK_THROWS_MATCHES(launch(5), Error,
                       Message("layouts has no more than 4 tiles of C in a launch; give it fewer "
                               "products at a time"));
}

TEST_CASE("tensor cores: the other steps refuse layouts, and all an epilogue") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  const auto launch = [&](const Bf16Product& product) {
    step.launch(product, nullptr, nullptr, Output(), {}, nullptr);
  };
  const std::string name = step.name;
  for (const Bf16Product& product :
       {Bf16Product{.b_transposed = true}, {.lda = 8}, {.ldb = 8}, {.ldc = 8}, {.batch = 2}}) {
    if (name == "layouts")
      CHECK_NOTHROW(launch(product));
    else
      CHECK_THROWS_MATCHES(
          launch(product), Error,
          Message(name + " takes one product A·B of matrices without gaps; take step "
                         "layouts, of part tensor_cores or hopper"));
  }
  const float bias = 0;
  for (const Bf16Product& product :
       {Bf16Product{.alpha = 2}, {.beta = 1}, {.bias = &bias}, {.act = Activation::gelu}})
    CHECK_THROWS_MATCHES(
        launch(product), Error,
        Message(name + " stores the sums as they are; for alpha, beta, a bias or an "
                       "activation take step epilogue of part hopper"));
}

}  // namespace
}  // namespace tutorial::tiled_matmul::tensor_cores
