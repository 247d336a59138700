// Both steps on shapes that their likely mistakes do not survive; then their counts; then the
// reference itself.
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {
namespace {

struct JointShape {
  int64_t m, n, k;
};

// How far the tensors begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0, y = 0, y_tilde = 0;
};

struct JointProblem {
  explicit JointProblem(JointShape shape, Offsets offsets = {})
      : A(make_values({shape.m, shape.k}, Init::normal, 1)),
        B(make_values({shape.k, shape.n}, Init::normal, 2)),
        C(make_values({shape.n, shape.k}, Init::normal, 3)),
        a(A, offsets.a),
        b(B, offsets.b),
        c(C, offsets.c),
        y(shape.m * shape.k, offsets.y),
        y_tilde(shape.m * shape.n, offsets.y_tilde) {}
  std::vector<float> A, B, C;
  DeviceBuffer<float> a, b, c, y, y_tilde;
};

void check_step(const Step<Launcher>& step, JointShape shape, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const auto [m, n, k] = shape;
  INFO(step.name << " m=" << m << " n=" << n << " k=" << k << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c << ", " << offsets.y << ", " << offsets.y_tilde);
  JointProblem p(shape, offsets);
  check_launch(
      [&](float* y) {
        step.launch(p.a.data(), p.b.data(), p.c.data(), y, p.y_tilde.data(), m, n, k);
      },
      reference(p.A, p.B, p.C, n, k, all_rows(m)),
      {.name = "y", .rows = m, .cols = k, .tile = step.tile}, offsets.y);
  CHECK(p.y_tilde.guards_intact());
}

int64_t up_to(int64_t b, int64_t size) {
  return ceil_div(size, b) * b;
}

TEST_CASE("joint tiling: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (JointShape shape : std::vector<JointShape>{{64, 64, 64},
                                                  {1, 1, 1},
                                                  {130, 70, 45},
                                                  {1, 130, 7},
                                                  {130, 1, 7},
                                                  {17, 90, 16},
                                                  {20, 200, 32},
                                                  {33, 70, 100},
                                                  {20, 150, 200},
                                                  {0, 3, 4},
                                                  {3, 0, 4},
                                                  {3, 4, 0}})
    check_step(step, shape);
  for (int64_t offset : {1, 2, 3}) {
    check_step(step, {9, 20, 8}, {.a = offset});
    check_step(step, {9, 20, 8}, {.b = offset});
    check_step(step, {9, 20, 8}, {.c = offset});
    check_step(step, {9, 20, 8}, {.y = offset});
    check_step(step, {9, 20, 8}, {.y_tilde = offset});
    check_step(step, {9, 20, 8}, {offset, offset, offset, offset, offset});
  }
}

TEST_CASE("joint tiling: every step has tiles for devices with less shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const auto tile_with = [](int64_t limit, int64_t k) {
    const SmallSharedMemory small(limit);
    return tile_for(k);
  };
  CHECK(tile_with(64 * 1024, 16) == 16);
  CHECK(tile_with(64 * 1024, 17) == 32);
  CHECK(tile_with(64 * 1024, 64) == 64);
  CHECK(tile_with(64 * 1024, 65) == 32);
  CHECK(tile_with(98303, 128) == 32);
  const int largest = shared_memory_limit() < 98304 ? 32 : 64;
  CHECK(tile_with(98304, 128) == largest);
  CHECK(tile_with(98304, 1000) == largest);
  const SmallSharedMemory small(64 * 1024);
  for (JointShape shape :
       std::vector<JointShape>{{70, 33, 64}, {70, 33, 65}, {33, 70, 128}, {20, 150, 200}})
    check_step(step, shape);
}

TEST_CASE("joint tiling: the kernels ask for what their headers say", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const JointShape& shape :
       std::vector<JointShape>{{20, 40, 16}, {70, 33, 30}, {33, 20, 128}}) {
    const auto [m, n, k] = shape;
    CAPTURE(step.name, m, n, k);
    JointProblem p(shape);
    check_asked_for(step, [&, m = m, n = n, k = k](auto run) {
      return run(p.a.data(), p.b.data(), p.c.data(), p.y.data(), p.y_tilde.data(), m, n, k);
    });
  }
}

TEST_CASE("joint tiling: the program checks both steps, and finds one wrong element", "[program]") {
  const Words small = {"--m", "20", "--n", "30", "--k", "8"};
  const ProgramRun run = run_program(small);
  // 2 · 2·20·30·8 FLOP; A and B, C and y, 20·8 and 30·8 floats each
  check_all_right(run, names_of(steps), {.flop = 19200, .bytes = 3200});
  CHECK_THAT(run.out, ContainsSubstring("y[20×8] = (A[20×8] · B[8×30]) · C[30×8], fp32\n"
                                        "19.2 kFLOP, at least 3.20 kB, 6.00 FLOP/byte"));
  // Tiles of 16: A is read for 2 tiles of columns, B for 2 of rows, ỹ for one, C for 2. With joint
  // tiling each tile of rows reads A once for the columns of y, B for its tile of y, and C.
  check_counted(run.row("two_products"),
                {{"global_load_bytes", 4 * (2 * 160 + 2 * 240 + 600 + 2 * 240)},
                 {"global_store_bytes", 4 * (600 + 160)}});
  check_counted(run.row("joint_tiling"), {{"global_load_bytes", 4 * (160 + 2 * 240 + 2 * 240)},
                                          {"global_store_bytes", 4 * 160}});
  // 2·32·(32·16·2) FLOP, floats read and written as above; 4·m·n·k, 4·m·n·k / b + m·n + m·k.
  CHECK_THAT(run.out, ContainsSubstring("one after the other    16            65536           19200"
                                        "             2640            1960\n"));
  // 2·32·32·(8 + 16) FLOP; by the article 2·m·n·k·(1 + 1), and 2·(2·16·k + 2·16·k·2) floats.
  CHECK_THAT(run.out, ContainsSubstring("joint                  16            49152           19200"
                                        "             1280            1536\n"));
  CHECK_THAT(run.out, ContainsSubstring("with b = k pays if k < 3·n: 8 < 90, it does; by the "
                                        "counts with b = 16 it does\n"));
  check_wrong(run_spoiled(small, {"two_products", 159, 1, 0.01f}),
              {"1 of 160 elements", "y[19][7]"});
}

TEST_CASE("joint tiling: the program counts with two tiles, and says where joint does not pay",
          "[program]") {
  const ProgramRun run = run_program({"--m", "5", "--n", "3", "--k", "100"});
  CHECK(run.status == 0);
  const int b = tile_for(100);
  for (const int tile : {b, b / 2}) {
    char line[40];
    std::snprintf(line, sizeof line, "one after the other %5d ", tile);
    CHECK_THAT(run.out, ContainsSubstring(line));
  }
  CHECK_THAT(run.out, ContainsSubstring("with b = k pays if k < 3·n: 100 >= 9, it does not; by the "
                                        "counts with b = " +
                                        std::to_string(b) + " it does not\n"));
}

// Beside the wrong step the other one is right.
TEST_CASE("joint tiling: the program compares some rows of a large result", "[program]") {
  check_wrong(run_as_large({"--m", "20", "--n", "30", "--k", "8"}, 15 * 30 * 8,
                           {"two_products", 159, 1, 10}),
              {"1 of 128 checked elements (16 of 20 rows)", "y[19][7]"});
}

// What is loaded is counted element by element. Products are counted for whole tiles, because the
// kernels multiply the zeros past an edge as well.
TEST_CASE("joint tiling: the kernels do what the formulas say, rounded up where tiles are") {
  for (JointShape shape : std::vector<JointShape>{
           {128, 128, 64}, {130, 70, 45}, {64, 8, 64}, {1, 200, 64}, {70, 33, 128}, {3, 0, 4}}) {
    const auto [m, n, k] = shape;
    JointProblem p(shape);
    for (int64_t b : TILES) {
      if (!is_in_sample()) continue;
      INFO("m=" << m << " n=" << n << " k=" << k << " b=" << b);
      const int64_t down = ceil_div(m, b), across = ceil_div(k, b), middle = ceil_div(n, b);
      const Tally two = count_two_products(p.a.data(), p.b.data(), p.c.data(), p.y.data(),
                                           p.y_tilde.data(), m, n, k, static_cast<int>(b));
      CHECK(two.flop == 2 * up_to(b, m) * (up_to(b, n) * up_to(b, k) * 2));
      CHECK(two.accesses ==
            m * k * middle + k * n * down + m * n + m * n * across + n * k * down + m * k);
      if (joint_bytes(k, b) > shared_memory_limit()) continue;
      const Tally one = count_joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), m, n, k,
                                           static_cast<int>(b));
      CHECK(one.flop == 2 * up_to(b, m) * up_to(b, n) * (k * across + up_to(b, k)));
      CHECK(one.accesses ==
            (n > 0 ? across * m * k : 0) + down * across * k * n + down * n * k + m * k);
      if (device_has_clock() || b != tile_for(k)) continue;
      // The simulator sees every access, and counts what the kernel without a Count does.
      const Counts counts = counts_of(
          [&] { joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), nullptr, m, n, k); });
      CHECK(counts.loads.bytes + counts.stores.bytes == 4 * one.accesses);
    }
  }
}

TEST_CASE("joint tiling: tiles that there are not are refused") {
  const JointProblem p({16, 16, 16});
  for (const int tile : {0, 17, 128})
    CHECK_THROWS_WITH(
        count_joint_tiling(p.a.data(), p.b.data(), p.c.data(), nullptr, 16, 16, 16, tile),
        "a tile of " + std::to_string(tile) + " is not one of 16, 32, 64.");
}

TEST_CASE("joint tiling: the article's formulas, and where they differ from the counts") {
  JointProblem p({128, 256, 64});
  const auto one = [&](int64_t m, int64_t n, int64_t k, int b) {
    return count_joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), m, n, k, b);
  };
  const auto two = [&](int64_t m, int64_t n, int64_t k, int b) {
    return count_two_products(p.a.data(), p.b.data(), p.c.data(), p.y.data(), p.y_tilde.data(), m,
                              n, k, b);
  };
  SECTION("whole tiles, b = k: they agree") {
    CHECK(one(128, 256, 64, 64) == article_joint_tiling(128, 256, 64, 64));
    CHECK(two(128, 256, 64, 64) == article_two_products(128, 256, 64, 64));
    CHECK(one(128, 256, 64, 64).flop == two(128, 256, 64, 64).flop);
  }
  SECTION("b = k/2 computes A·B twice, and so reads A and B twice, which the article left out") {
    const Tally counts = one(128, 256, 64, 32);
    CHECK(counts.flop == 3 * 2 * int64_t{128} * 256 * 64);
    CHECK(counts.flop == article_joint_tiling(128, 256, 64, 32).flop);
    const int64_t again = 128 * 64 + 128 / 32 * 64 * 256;
    CHECK(counts.accesses == article_joint_tiling(128, 256, 64, 32).accesses + again);
  }
  SECTION("n < k/3: the article's formulas say that it does not pay, but it does") {
    const auto article_two = article_two_products(128, 16, 64, 64);
    const auto article_one_unrounded = 2 * 128 * 16 + 2 * 128 * 64;  // ⌈⌉ ignored, as it does
    CHECK(article_one_unrounded > article_two.accesses);
    CHECK(one(128, 16, 64, 64).accesses < two(128, 16, 64, 64).accesses);
  }
}

// m tokens of k numbers by k×4k, then by 4k×k: docs/06_joint.md, "And the MLP?".
TEST_CASE("joint tiling: an MLP, whose k is many tiles wide, has more FLOP and more accesses") {
  const auto accesses_of_two = [](int64_t m, int64_t n, int64_t k, int64_t b) {
    return m * k * (n / b) + k * n * (m / b) + m * n + m * n * (k / b) + n * k * (m / b) + m * k;
  };
  const auto accesses_of_one = [](int64_t m, int64_t n, int64_t k, int64_t b) {
    return (k / b) * m * k + (m / b) * (k / b) * k * n + (m / b) * n * k + m * k;
  };
  JointProblem p({16, 256, 64});  // with b = 16, four tiles
  const Tally one =
      count_joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), 16, 256, 64, 16);
  const Tally two = count_two_products(p.a.data(), p.b.data(), p.c.data(), p.y.data(),
                                       p.y_tilde.data(), 16, 256, 64, 16);
  CHECK(2 * one.flop == 5 * two.flop);
  CHECK(one.accesses > two.accesses);
  CHECK(one.accesses == accesses_of_one(16, 256, 64, 16));
  CHECK(two.accesses == accesses_of_two(16, 256, 64, 16));
  // By the article it would pay: k < 3·n, and its formula has fewer accesses.
  CHECK(article_joint_tiling(16, 256, 64, 16).accesses <
        article_two_products(16, 256, 64, 16).accesses);
  // The page's figures.
  CHECK(accesses_of_two(1024, 3072, 768, 64) == 154927104);
  CHECK(accesses_of_one(1024, 3072, 768, 64) == 500957184);
  CHECK(accesses_of_two(128, 16384, 4096, 64) == 539492352);
  CHECK(accesses_of_one(128, 16384, 4096, 64) == 8758231040);
}

TEST_CASE("the reference of (A·B)·C is right where it is known") {
  const int64_t m = 4, n = 3, k = 5;
  const std::vector<float> C = make_values({n, k}, Init::normal, 3);
  std::vector<float> A(m * k, 0.0f), B(k * n, 0.0f);
  for (int64_t i = 0; i < m; ++i) A[i * k + i] = 1;                // picks row i of B,
  for (int64_t x = 0; x < k; ++x) B[x * n + (2 * x + 1) % n] = 2;  // which picks a row of C, twice
  const Expected got = reference(A, B, C, n, k, all_rows(m));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t x = 0; x < k; ++x) CHECK(got.value[i * k + x] == 2.0 * C[(2 * i + 1) % n * k + x]);
}

TEST_CASE("joint tiling: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "20", "--n", "30", "--k", "8"});
}

}  // namespace
}  // namespace tutorial::flash_attention::joint
