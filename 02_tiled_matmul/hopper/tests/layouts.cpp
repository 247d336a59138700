// Step layouts: B or its transpose, rows with gaps, several products; and what the other steps say
// of these.
#include "tensor_cores/tests/layouts.hpp"

#include <catch2/matchers/catch_matchers_exception.hpp>

#include "common/testing/program_run.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

using Catch::Matchers::Message;
using tensor_cores::check_layout, tensor_cores::check_layouts, tensor_cores::check_layout_asks;
using tensor_cores::check_layout_in_two_streams;

constexpr int SMS = 132;  // of an H100 or H200, and of the simulator

Step<Launcher> layouts_step() {
  for (const auto& step : steps)
    if (std::string(step.name) == "layouts") return runnable(step);
  throw std::logic_error("no step layouts");
}

TEST_CASE("hopper: layouts is right for B and its transpose, gaps and batches", "[shapes]") {
  check_layouts(layouts_step(),
                {{37, 40, 29}, {136, 72, 200}, {257, 136, 67}, {3, 5, 7}, {5, 9, 0}, {0, 5, 3}});
}

// Tiles of 64, 128, 192 and 256 columns, and more of them than blocks.
TEST_CASE("hopper: layouts is right with each tile", "[shapes]") {
  const Step<Launcher> step = layouts_step();
  const FewMultiprocessors few(6);
  for (const auto& [M, N, batch, columns] :
       {std::tuple<int64_t, int64_t, int64_t, int>{130, 64, 9, 64},
        {130, 248, 6, 256},
        {130, 184, 6, 192},
        {130, 128, 6, 128}}) {
    REQUIRE(columns_of_tile(M, N, 6, batch) == columns);
    for (bool transposed : {false, true})
      check_layout(step, {.M = M,
                          .N = N,
                          .K = 264,
                          .b_transposed = transposed,
                          .ldb = 264,
                          .ldc = 256,
                          .batch = batch});
  }
}

TEST_CASE("hopper: layouts takes what TMA does not, too", "[shapes]") {
  const Step<Launcher> step = layouts_step();
  Bf16Product p = {.M = 20, .N = 24, .K = 40, .b_transposed = true, .batch = 2};
  for (int64_t offset : {1, 4}) {
    check_layout(step, p, {.a = offset});
    check_layout(step, p, {.b = offset});
    check_layout(step, p, {.c = offset});
  }
  p.stride_a = 20 * 40 + 4;
  check_layout(step, p);
}

TEST_CASE("hopper: what TMA takes of layouts") {
  alignas(16) static const bf16 aligned[2] = {};
  const auto takes = [](Bf16Product p, const bf16* A) {
    p.M = p.M == 0 ? 20 : p.M, p.N = p.N == 0 ? 28 : p.N, p.K = 50;
    return tma_takes_layout(spelled_out(p), A, aligned, static_cast<float*>(nullptr));
  };
  const Bf16Product p = {.b_transposed = true, .lda = 56, .ldb = 56, .ldc = 32, .batch = 2};
  CHECK(takes(p, aligned));  // whatever K is
  CHECK(!takes(p, aligned + 1));
  const auto with = [&](auto change) {
    Bf16Product other = p;
    change(other);
    return takes(other, aligned);
  };
  CHECK(!with([](Bf16Product& x) { x.lda = 52; }));
  CHECK(!with([](Bf16Product& x) { x.ldb = 57; }));
  CHECK(!with([](Bf16Product& x) { x.ldc = 30; }));
  CHECK(!with([](Bf16Product& x) { x.N = 30; }));
  CHECK(with([](Bf16Product& x) { x.stride_a = 2000; }));
  CHECK(!with([](Bf16Product& x) { x.stride_a = 2004; }));
  CHECK(!with([](Bf16Product& x) { x.stride_b = 2001; }));
  CHECK(!with([](Bf16Product& x) { x.stride_c = 2002; }));
  CHECK(!with([](Bf16Product& x) { x.batch = 0; }));
  CHECK(!with([](Bf16Product& x) { x.batch = MOST; }));
  CHECK(!with([](Bf16Product& x) { x.stride_a = int64_t{1} << 38; }));
}

// The rows of the products take turns, as the heads of one sequence do.
TEST_CASE("hopper: layouts takes matrices whose rows lie between another's") {
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

TEST_CASE("hopper: layouts does nothing for no products") {
  check_layout(layouts_step(), {.M = 20, .N = 24, .K = 40, .batch = 0});
}

TEST_CASE("hopper: layouts stays in its stream, and two launches share nothing") {
  check_layout_in_two_streams(layouts_step(),
                              {.M = 70, .N = 136, .K = 72, .b_transposed = true, .batch = 3});
}

TEST_CASE("hopper: layouts asks for what its header says", "[counts]") {
  const Step<Launcher> step = layouts_step();
  for (bool transposed : {false, true}) {
    check_layout_asks(step, {.M = 140, .N = 136, .K = 72, .b_transposed = transposed, .batch = 3});
    check_layout_asks(step, {.M = 65,
                             .N = 128,
                             .K = 71,
                             .b_transposed = transposed,
                             .lda = 72,
                             .ldb = 136,
                             .ldc = 136});
    check_layout_asks(step, {.M = 65, .N = 131, .K = 71, .b_transposed = transposed, .batch = 2});
  }
}

TEST_CASE("hopper: layouts counts the tiles of all products") {
  CHECK(columns_of_tile(1024, 1024, SMS) == 64);
  CHECK(columns_of_tile(1024, 1024, SMS, 16) == 256);
}

TEST_CASE("hopper: the other steps refuse layouts, and all but epilogue an epilogue") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Bf16Product& product) {
    step.launch(product, nullptr, nullptr, Output(), {}, nullptr);
  };
  const std::string name = step.name;
  for (const Bf16Product& product :
       {Bf16Product{.b_transposed = true}, {.lda = 8}, {.ldb = 8}, {.ldc = 8}, {.batch = 2}}) {
    if (name == "layouts" || name == "epilogue")
      CHECK_NOTHROW(launch(product));
    else
      CHECK_THROWS_MATCHES(
          launch(product), Error,
          Message(name + " takes one product A·B of matrices without gaps; take step "
                         "layouts, of part tensor_cores or hopper"));
  }
  if (name == "epilogue") return;
  CHECK_THROWS_MATCHES(launch({.alpha = 2}), Error,
                       Message(name + " stores the sums as they are; for alpha, beta, a bias or an "
                                      "activation take step epilogue of part hopper"));
}

TEST_CASE("hopper: TMA takes what its maps can name") {
  const auto* aligned = reinterpret_cast<const bf16*>(uintptr_t{4096});
  const Output C(reinterpret_cast<float*>(uintptr_t{4096}));
  for (const auto& [M, N, K] : {std::tuple{MOST, 8l, 8l}, {8l, MOST, 8l}, {8l, 8l, MOST}}) {
    CHECK_FALSE(tma_takes({.M = M, .N = N, .K = K}, aligned, aligned, C));
    CHECK(tma_takes(
        {.M = std::min(M, MOST - 8), .N = std::min(N, MOST - 8), .K = std::min(K, MOST - 8)},
        aligned, aligned, C));
  }
}

TEST_CASE("hopper: the program takes layouts, gaps and batches", "[program]") {
  const Words words = {"--m", "40", "--n", "30", "--k", "20", "--layout", "nt", "--batch", "3"};
  const ProgramRun run = run_program(words);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, ContainsSubstring("3 times C[40×30] = A[40×20] · B[30×20]ᵀ, bf16 in"));
  CHECK_THAT(run.out, ContainsSubstring("take step layouts"));
  check_all_right(run_program(words + Words{"--gap", "4", "--kernel", "layouts"}), {"layouts"},
                  {.flop = 144000, .bytes = 22800});
  check_wrong(run_spoiled(words + Words{"--kernel", "layouts"}, {"layouts", 3599, 1, 0.01f}),
              {"1 of 3600 elements"});
  check_all_right(
      run_program({"--m", "40", "--n", "30", "--k", "20", "--gap", "4", "--kernel", "layouts"}),
      {"layouts"}, {.flop = 48000, .bytes = 7600});
  const ProgramRun other = run_program({"--layout", "tn"});
  CHECK(other.status == 2);
  CHECK_THAT(other.err, ContainsSubstring("--layout is nn or nt, and not \"tn\""));
}

}  // namespace
}  // namespace tutorial::tiled_matmul::hopper
