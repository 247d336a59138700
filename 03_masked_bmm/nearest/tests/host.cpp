// What stands before a launch, what the kernels ask for, the program, and the reference itself.
#include <algorithm>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "nearest/tests/problem.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

TEST_CASE("nearest: the shares are equal, and have every tile") {
  struct Case {
    int64_t M, N, blocks, expected;
  };
  for (const Case& c : std::vector<Case>{{16384, 16384, 132, 132},
                                         {128, 16384, 132, 64},
                                         {1, 1, 132, 1},
                                         {0, 512, 132, 0},
                                         {300, 5, 1, 1},
                                         {1000, 100000, 132, 132},
                                         {20000, 300, 7, 7}}) {
    const Cut cut = cut_of({c.M, c.N, 1}, c.blocks);
    CAPTURE(c.M, c.N, c.blocks);
    CHECK(cut.blocks == c.expected);
    if (cut.blocks == 0) continue;
    const int64_t tiles = cut.strips * cut.tiles;
    CHECK(tiles == ceil_div(c.M, 128) * ceil_div(c.N, 256));
    CHECK(cut.first_tile(0) == 0);
    CHECK(cut.first_tile(cut.blocks) == tiles);
    int64_t most = 0;
    for (int64_t block = 0; block < cut.blocks; ++block) {
      const int64_t first = cut.first_tile(block), next = cut.first_tile(block + 1);
      CHECK((next - first == tiles / cut.blocks || next - first == tiles / cut.blocks + 1));
      CHECK(cut.block_of(first) == block);
      CHECK(cut.block_of(next - 1) == block);
    }
    for (int64_t strip = 0; strip < cut.strips; ++strip)
      most = std::max(
          most, 1 + cut.block_of((strip + 1) * cut.tiles - 1) - cut.block_of(strip * cut.tiles));
    CHECK(most <= cut.parts());
    CHECK(cut.parts() <= most + 1);
  }
}

/// Of all rows: how many there are, or rounds of 32 of them.
int64_t candidates_of(const Step<Launcher>& step, const Problem& p, int64_t a_round) {
  int64_t all = 0;
  for (const int candidates : found_by(step, p).candidates) all += ceil_div(candidates, a_round);
  return all;
}

TEST_CASE("nearest: the kernels ask for what their headers say", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const int64_t blocks : {132, 2}) {
    const SmallGrid grid(blocks, 1);
    for (Search s : std::vector<Search>{{128, 300, 16}, {129, 257, 9}, {3, 530, 7}, {2, 200, 9}}) {
      if (step.features & MANY) s.k = 3;
      if ((step.features & DISTANCE) == 0) s.measure = Measure::product;
      if (!is_in_sample(step.name)) continue;
      CAPTURE(step.name, s.M, s.N, s.D, blocks);
      const Problem p = random_problem(s);
      const DeviceBuffer<float> a(p.A), b(p.B);
      DeviceBuffer<float> out(s.M * s.k), values(s.M * s.k);
      DeviceBuffer<std::byte> memory(workspace_bytes(s, step.launch));
      const auto call = [&](auto run) {
        return run(s, a.data(), b.data(), out.data(), values.data(), workspace_in(memory), nullptr);
      };
      std::vector<Asked> asked = call(step.asked);
      const int64_t missing = s.M * room_of(s) - candidates_of(step, p, 1),
                    rounds = s.M * ceil_div(room_of(s), 32) - candidates_of(step, p, 32);
      for (Asked& by : asked) {  // no row is doubtful here
        const std::string kernel = by.kernel;
        if (kernel == "scan_kernel") by.loads -= 8 * s.M * s.N * s.D, by.stores -= 8 * s.M * s.k;
        if (kernel.ends_with("candidates_kernel")) by.stores -= 4 * missing;
        if (kernel == "choose_kernel") by.loads -= (4 * s.D + 8) * missing + 4 * s.D * rounds;
      }
      check_asked_for(asked, [&] { call(step.launch); });
    }
  }
}

TEST_CASE("nearest: without tensor cores step 9 asks for what step 8 does", "[shapes]") {
  const auto loads = [](Asks<Launcher>* asks) {
    std::vector<int64_t> bytes;
    for (const Asked& by :
         asks({.M = 3, .N = 530, .D = 7, .k = 3}, nullptr, nullptr, nullptr, nullptr, {}, nullptr))
      bytes.push_back(by.loads);
    return bytes;
  };
  CHECK((loads(tensor_cores_asks) == loads(limits_first_asks)) == !has_tensor_cores());
}

std::string refusal(const Search& s, const Step<Launcher>& step, Workspace workspace = {}) {
  try {
    step.launch(s, nullptr, nullptr, nullptr, nullptr, workspace, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("nearest: what cannot be done is refused in a sentence") {
  const auto step = EACH_STEP(steps);
  const Measure measure = step.features & DISTANCE ? Measure::distance : Measure::product;
  const auto says = [&](Search s) {
    s.measure = measure;
    return refusal(s, step);
  };
  CHECK(says({.M = 0, .N = 1, .D = 1}).empty());
  CHECK(says({.M = 0, .N = MOST_POINTS, .D = 1}).empty());
  CHECK_THAT(says({.M = 0, .N = MOST_POINTS + 1, .D = 1}),
             ContainsSubstring("16777217 points are too many"));
  CHECK_THAT(says({.M = 0, .N = 0, .D = 1}), ContainsSubstring("--neighbours is 1 of 0 points"));
  CHECK_THAT(says({.M = 0, .N = 4, .D = 1, .k = 5}),
             ContainsSubstring("--neighbours is 5 of 4 points"));
  CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 129}), ContainsSubstring("take 1 to 128"));
  CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 0}), ContainsSubstring("take 1 to 128"));
  if ((step.features & MANY) == 0)
    CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 2}), ContainsSubstring("finds one neighbour"));
  if ((step.features & PRODUCT) == 0 || (step.features & DISTANCE) == 0) {
    Search other = {.M = 0, .N = 5, .D = 1, .k = step.features & MANY ? 2 : 1};
    other.measure = measure == Measure::product ? Measure::distance : Measure::product;
    CHECK_THAT(refusal(other, step), ContainsSubstring("compares"));
  }
  Search some = {.M = 3, .N = 500, .D = 1, .measure = measure};
  const int64_t needed = workspace_bytes(some, step.launch);
  CHECK_THAT(refusal(some, step, {.memory = nullptr, .bytes = needed - 1}),
             ContainsSubstring(std::string(step.name) + " needs a workspace of " +
                               std::to_string(needed) + " bytes"));
}

TEST_CASE("nearest: the program checks all steps, and finds one wrong element", "[program]") {
  const Words product = {"--product", "--m", "20", "--n", "30", "--d", "8"};
  const ProgramRun run = run_program(product);
  // 2·20·30·8 FLOP; A and B, and 20 numbers of points, and their values
  const Cost least = {.flop = 9600, .bytes = 4 * (20 * 8 + 30 * 8 + 20 + 20)};
  check_all_right(run,
                  {"product_then_minimum", "fused_minimum", "atomic_lists", "lists_on_chip",
                   "k_best", "cuBLAS + minimum"},
                  least);
  // Of this row only the minimum of 20 rows is counted: 30 products, a point and its value.
  check_counted(run.row("cuBLAS + minimum"),
                {{"global_load_bytes", 4 * 20 * 30}, {"global_store_bytes", 4 * 20 * 2}});
  const ProgramRun near = run_program({"--m", "20", "--n", "30", "--d", "8"});
  check_all_right(near,
                  {"distances", "second_look", "atomic_lists", "lists_on_chip", "k_best",
                   "limits_first", "tensor_cores"},
                  least);
  CHECK_THAT(near.out, ContainsSubstring("out[20×1] = the 1 nearest of B[30×8] for each of "
                                         "A[20×8], by |a - b|, fp32"));
  check_wrong(run_spoiled(product, {"fused_minimum", 19, 1, 1}),
              {"1 of 20 elements", "out[19][0]"});
  check_wrong(run_spoiled(product, {"fused_minimum", 20 + 19, 1, 0.01f}),
              {"1 of 20 elements", "values[19][0]"});
}

TEST_CASE("nearest: the program compares some rows of a large result", "[program]") {
  check_wrong(run_as_large(
                  {"--product", "--kernel", "fused_minimum", "--m", "200", "--n", "30", "--d", "8"},
                  100 * 30 * 8, {"fused_minimum", 199, 1, 1}),
              {"1 of 101 checked elements (101 of 200 rows)", "out[199][0]"});
}

TEST_CASE("the reference of the values is right where they are known") {
  const std::vector<float> A = {1, 2, 3, 4}, B = {0, 0, 5, 2, -1, 1e30f};
  const std::vector<float> out = {1, -1, 0, 2};  // two points of each row
  const Search s = {.M = 2, .N = 3, .D = 2, .k = 2};
  const std::vector<double> got = values_reference(s, A, B, all_rows(2), out).value;
  CHECK((got[0] == 16 && std::isnan(got[1]) && got[2] == 25 && got[3] == INFINITY));
  Search products = s;
  products.measure = Measure::product;
  const Expected last = values_reference(products, A, B, std::vector<int64_t>{1}, out);
  CHECK(last.value == std::vector<double>{0, static_cast<float>(4.0 * 1e30f - 3)});
  CHECK(std::abs(last.bound[1] / (4e30 * 3 * 0x1p-24) - 1) < 1e-6);
}

TEST_CASE("the reference of the nearest is right where it is known") {
  const std::vector<float> A = {0, 10}, B = {3, -1, 9, 1, NAN};
  const auto of = [&](Search s) { return reference(s, A, B, all_rows(s.M)).value; };
  CHECK(of({2, 5, 1, 2}) == std::vector<double>{1, 3, 2, 0});  // |0 - -1| = |0 - 1|
  CHECK(of({2, 5, 1, 5}) == std::vector<double>{1, 3, 0, 2, -1, 2, 0, 3, 1, -1});
  CHECK(of({2, 5, 1, 2, Measure::product}) == std::vector<double>{0, 1, 1, 3});
  // Rounding is an excuse for one that is as good, and for no other; and not for one twice.
  const std::vector<float> close = {1, 1 + 0x1p-23f, 2};
  const Search s = {1, 3, 1, 2, Measure::product};
  const std::vector<float> one = {1};
  const auto with = [&](std::vector<float> got) {
    return reference(s, one, close, all_rows(1), got).value;
  };
  CHECK(with({0, 1}) == std::vector<double>{0, 1});
  CHECK(with({1, 0}) == std::vector<double>{1, 0});
  CHECK(with({1, 1}) == std::vector<double>{0, 1});
  CHECK(with({2, 1}) == std::vector<double>{0, 1});
  CHECK(with({0.5f, 7}) == std::vector<double>{0, 1});
}

TEST_CASE("nearest: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--product", "--m", "20", "--n", "30", "--d", "8"});
}

}  // namespace
}  // namespace tutorial::masked_bmm::nearest
