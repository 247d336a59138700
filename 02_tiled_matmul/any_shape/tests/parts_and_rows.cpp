// Steps 3 to 7 on thin matrices and long sums, and the rules by which they choose.
#include "any_shape/plan.hpp"
#include "any_shape/tests/step_of.hpp"
#include "common/testing/same_bits.hpp"
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"

namespace tutorial::tiled_matmul::any_shape {
namespace {

constexpr int SMS = 132;  // of an H100 or H200: the rules are tested for these

/// The bits of C, to compare two runs.
std::vector<float> run(Launcher* launch, Shape shape) {
  const auto [M, N, K] = shape;
  const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
  const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
  DeviceBuffer<float> c(M * N);
  DeviceBuffer<std::byte> memory(workspace_bytes({M, N, K}, b.data()));
  launch({M, N, K}, a.data(), b.data(), c.data(), workspace_in(memory), nullptr);
  return c.to_host();
}

/// Step 4 by this plan, with all the workspace that it wants, or so many bytes less.
ScaledStep by_plan(const Plan& plan, int64_t bytes_less = 0) {
  return with_workspace(
      "thin_tiles", [=](auto&&... arguments) { thin_tiles_as(plan, arguments...); },
      [=](const ScaledProduct& product, const float*) {
        return workspace_bytes(plan, product) - bytes_less;
      });
}

}  // namespace

TEST_CASE("split_k cuts K where C has few tiles and K is long, and nowhere else") {
  CHECK(parts_of_k(100, 100, 100000, SMS) == 196);  // 2 tiles, 396 blocks at once
  CHECK(parts_of_k(64, 128, 1024, SMS) == 8);       // 128 elements each
  CHECK(parts_of_k(64, 128, 255, SMS) == 1);
  CHECK(parts_of_k(64, 128, 256, SMS) == 2);
  CHECK(parts_of_k(64 * 198, 128, 4096, SMS) == 2);  // room for two of each tile
  CHECK(parts_of_k(64 * 199, 128, 4096, SMS) == 1);
  CHECK(parts_of_k(64 * 198, 128, 4096, SMS / 2) == 1);
  CHECK(parts_of_k(4096, 4096, 4096, SMS) == 1);
  CHECK(parts_of_k(0, 128, 4096, SMS) >= 1);
  CHECK(parts_of_k(64, 128, 0, SMS) == 1);
}

TEST_CASE("split_k is right in several parts", "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&split_k));
  check_step(step, {64, 128, 256});  // two parts of whole tiles
  check_step(step, {3, 5, 300});     // the last part is shorter
  check_step(step, {65, 5, 390});    // two tiles of C, three parts
  check_step(step, {1, 40, 270});
  check_step(step, {70, 1, 270});
  check_step(step, {0, 5, 300});  // there is nothing to share
  check_step(step, {5, 0, 300});
  for (int64_t offset : {1, 2, 3}) check_step(step, {5, 8, 256}, {offset, offset, offset});
  // beta·C is added once, and not once for each part
  check_step(step, {66, 12, 260}, {}, 2.5f, -3);
  check_step(step, {5, 7, 259}, {1, 2, 3}, -0.5f, 1);
}

TEST_CASE("best_plan takes a tile that fits C, and as many parts as fill the device") {
  const auto tile_of = [](const Plan& plan) {
    return std::pair(tiles[plan.tile].BM, tiles[plan.tile].BN);
  };
  const auto plan = [](int64_t M, int64_t N, int64_t K, bool aligned_b = true) {
    return best_plan(M, N, K, aligned_b, SMS);
  };
  CHECK(tile_of(plan(4096, 4096, 4096)) == std::pair(128, 256));
  CHECK(plan(4096, 4096, 4096).parts == 1);
  CHECK(tile_of(plan(100, 100, 100000)) == std::pair(64, 128));
  CHECK(plan(100, 100, 100000).parts > 64);
  CHECK(tile_of(plan(20000, 64, 20000)) == std::pair(128, 64));
  CHECK(tile_of(plan(16384, 96, 8192)) == std::pair(96, 96));
  CHECK(tile_of(plan(32, 4096, 4096)) == std::pair(32, 256));
  CHECK(tile_of(plan(16, 4096, 4096)) == std::pair(16, 256));
  CHECK(plan(16, 4096, 4096).parts > 1);
  // A copy of B costs time for each of its elements, and saves some for each row of C.
  CHECK(plan(4095, 4097, 4093, false).copy_b);
  CHECK(!plan(64, 40001, 4093, false).copy_b);
  CHECK(!plan(4096, 4096, 4096, true).copy_b);
}

TEST_CASE("thin_tiles is right with every tile, in one part and in several", "[shapes]") {
  if (!wanted_step().empty() && wanted_step() != "thin_tiles") SKIP("another step is wanted");
  const auto check = [](const Plan& plan, Shape shape, Offsets offsets = {}, float alpha = 1,
                        float beta = 0) {
    CAPTURE(plan.tile, plan.parts, plan.copy_b);
    check_step(by_plan(plan), shape, offsets, alpha, beta);
  };
  for (int tile = 0; tile < static_cast<int>(std::size(tiles)); ++tile) {
    const int64_t M = tiles[tile].BM + 1, N = tiles[tile].BN + 1;
    check({.tile = tile}, {M, N, 35});                                       // single floats
    check({.tile = tile, .copy_b = true}, {9, N, 20}, {1, 2, 3}, 2.5f, -3);  // 16 bytes of B
    check({.tile = tile}, {M, 12, 0}, {}, 1, 2);
    check({.tile = tile, .parts = 3}, {7, N + 3, 70});  // 16 bytes, in parts
    check({.tile = tile, .parts = 2}, {M, 5, 50}, {1, 1, 1}, 1, 1);
  }
  check({.tile = 1, .parts = 3, .copy_b = true}, {5, 7, 90});
}

TEST_CASE("thin_tiles takes what it finds where the workspace is too small for the plan") {
  const ScaledProduct product = {5, 7, 90};
  for (const Plan& plan : {Plan{.tile = 1, .parts = 3}, Plan{.tile = 1, .copy_b = true},
                           Plan{.tile = 1, .parts = 3, .copy_b = true}}) {
    for (int64_t less : {int64_t{1}, workspace_bytes(plan, product)})
      check_step(by_plan(plan, less), {product.M, product.N, product.K});
  }
}

TEST_CASE("thin_tiles stays in its stream with a copy of B and with parts") {
  const ScaledProduct product = {5, 7, 90};
  const DeviceBuffer<float> a(make_values({5, 90}, Init::normal, 1));
  const DeviceBuffer<float> b(make_values({90, 7}, Init::normal, 2));
  for (const Plan& plan : {Plan{.tile = 1, .parts = 3}, Plan{.tile = 1, .copy_b = true},
                           Plan{.tile = 1, .parts = 3, .copy_b = true}}) {
    CAPTURE(plan.parts, plan.copy_b);
    check_in_two_streams<float>(5 * 7, workspace_bytes(plan, product),
                                [&](float* C, Workspace workspace, cudaStream_t stream) {
                                  thin_tiles_as(plan, product, a.data(), b.data(), C, workspace,
                                                stream);
                                });
  }
}

TEST_CASE("the workspace has room for what a step puts there, and no more") {
  const DeviceBuffer<float> b(8);
  const auto bytes_of = [&](const ScaledProduct& product) {
    return workspace_bytes(product, b.data());
  };
  CHECK(bytes_of({5, 7, 9}) == 4 * 9 * 8);                       // a copy of B, rows of 8 floats
  CHECK(workspace_bytes({5, 8, 9}, b.data() + 1) == 4 * 9 * 8);  // … that begins elsewhere
  CHECK(bytes_of({5, 8, 9}) == 0);
  CHECK(bytes_of({1, 7, 256}) >= 4 * 2 * 8);  // two parts of split_k
  CHECK(bytes_of({0, 7, 300}) == 0);
  CHECK(bytes_of({5, 0, 300}) == 0);
  CHECK(bytes_of({5, 7, 300, 0}) == 0);  // alpha = 0
  CHECK(workspace_bytes(Plan{.parts = 3, .copy_b = true}, {5, 7, 90}) == 4 * (90 * 8 + 3 * 5 * 8));
  // A B that is not read is not copied, however large C is.
  CHECK(!plan_of({10001, 10001, 0}, b.data()).copy_b);
  CHECK(!plan_of({10001, 10001, 90, 0}, b.data()).copy_b);
}

TEST_CASE("few_rows cuts K where C has too few columns for all multiprocessors") {
  CHECK(parts_of_few_rows(4096, 4096, SMS) == 1);  // 128 blocks
  CHECK(parts_of_few_rows(32 * 66, 4096, SMS) == 2);
  CHECK(parts_of_few_rows(32 * 67, 4096, SMS) == 1);
  CHECK(parts_of_few_rows(64, 500000, SMS) == 66);
  CHECK(parts_of_few_rows(64, 1024, SMS) == 2);  // 512 elements each
  CHECK(parts_of_few_rows(64, 1023, SMS) == 1);
  CHECK(parts_of_few_rows(0, 4096, SMS) >= 1);
  CHECK(parts_of_few_rows(64, 0, SMS) == 1);
}

TEST_CASE("few_rows takes more than four rows only of a small B, or one that begins anywhere") {
  alignas(16) const float b[8] = {};
  const auto few = [&](int64_t M, int64_t N, int64_t K, int64_t offset = 0) {
    return are_few_rows({M, N, K}, b + offset);
  };
  CHECK(few(4, 8192, 8192));
  CHECK(few(5, 2000, 1000));
  CHECK(!few(5, 2004, 1000));
  CHECK(few(16, 2000, 1000));
  CHECK(!few(17, 2000, 1000));
  CHECK(few(8, 4097, 4096));
  CHECK(few(8, 4096, 4096, 1));
  CHECK(!few(8, 4096, 4096));
  CHECK(!few(9, 4097, 4096));
  CHECK(are_few_rows({16, 4096, 4096, 0}, b));  // alpha = 0: no B
}

TEST_CASE("few_rows is right for one to 17 rows, in one part and in several", "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&few_rows));
  for (int64_t M : {1, 2, 3, 4, 5, 8, 9, 16, 17}) {  // 17 rows are step 4's
    check_step(step, {M, 33, 40});
    check_step(step, {M, 70, 1031}, {1, 2, 3}, 2.5f, -3);  // two parts; beta·C is added once
    check_step(step, {M, 3, 2}, {}, 1, 1);
  }
  check_step(step, {1, 4300, 20});                 // more than one block a multiprocessor
  check_step(step, {3, 2144, 2060}, {}, 0.5f, 2);  // two pieces of A, in one part
  check_step(step, {1, 40, 2600}, {1, 1, 1});
}

TEST_CASE("few_rows reads each element of B once", "[counts]") {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  const Step<Launcher> step = step_of(&few_rows);
  const int64_t N = 96, K = 800;
  const DeviceBuffer<float> a(make_values({1, K}, Init::normal, 1));
  const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
  DeviceBuffer<float> c(N);
  const Counts counts = counts_of([&] {
    step.launch({1, N, K}, a.data(), b.data(), c.data(), {}, nullptr);
  });
  CHECK(counts.loads.bytes == 4 * (K * N + 3 * K));  // three blocks read A
}

TEST_CASE("few_columns takes up to eight columns, but no few rows with a long K") {
  for (int64_t N = 1; N <= MOST_FEW_COLUMNS; ++N) CHECK(are_few_columns(5, N, 1000000));
  CHECK(!are_few_columns(5, MOST_FEW_COLUMNS + 1, 10));
  CHECK(are_few_columns(4, 8, 16384));
  CHECK(!are_few_columns(4, 8, 16385));
  CHECK(rows_of_warp(32 * SMS, 100, SMS).rows == 4);
  CHECK(rows_of_warp(32 * SMS - 1, 100, SMS).rows == 1);
  CHECK(!rows_of_warp(32 * SMS, 1000, SMS).shared);
  CHECK(rows_of_warp(4 * SMS - 1, 257, SMS).shared);
  CHECK(!rows_of_warp(4 * SMS, 257, SMS).shared);
  CHECK(!rows_of_warp(5, 256, SMS).shared);
}

TEST_CASE("few_columns is right for one to nine columns, with rows of a warp or shared",
          "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&few_columns));
  for (int64_t N = 1; N <= MOST_FEW_COLUMNS + 1; ++N) {  // nine columns are step 5's
    check_step(step, {35, N, 131}, {1, 2, 3}, 2.5f, -3);
    check_step(step, {7, N, 600});  // shared: warps without an element of K in the last turn
    check_step(step, {5, N, 1}, {}, 1, 1);
  }
  const int64_t many = int64_t{32} * multiprocessors();  // four rows a warp
  for (int64_t N : {1, 2, 3, 8}) check_step(step, {many + 3, N, 37}, {1, 1, 1}, -0.5f, 2);
  check_step(step, {3, 5, 2061});  // few rows, too, and more than a turn of a block
}

TEST_CASE("short_k takes all of K at once, up to 96, where there is little to multiply") {
  CHECK(is_short_k(100, 100, 96));
  CHECK(is_short_k(5, 100, 96));
  CHECK(!is_short_k(4, 100, 96));
  CHECK(!is_short_k(100, 100, 97));
  CHECK(is_short_k(64 * 512, 64, 64));
  CHECK(!is_short_k(64 * 512 + 1, 64, 64));
  CHECK(!is_short_k(64 * 512, 65, 64));
  CHECK(is_short_k(64 * 32768, 64, 1));
  CHECK(!is_short_k(64 * 32768, 64, 2));
}

TEST_CASE("short_k is right up to 96 elements of K, and where rows begin anywhere", "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&short_k));
  for (int64_t K : {1, 2, 15, 95, 96, 97}) {  // the last is step 6's
    check_step(step, {65, 67, K});
    check_step(step, {66, 132, K}, {}, 2.5f, -3);  // 16-byte stores
    check_step(step, {5, 9, K}, {1, 2, 3}, 1, 1);
  }
}

TEST_CASE("short_k stores 16 bytes where rows are aligned", "[counts]") {
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  const Step<Launcher> step = step_of(&short_k);
  const DeviceBuffer<float> a(make_values({64, 5}, Init::normal, 1));
  const DeviceBuffer<float> b(make_values({5, 64}, Init::normal, 2));
  DeviceBuffer<float> c(64 * 64);
  const Counts counts = counts_of([&] {
    step.launch({64, 64, 5}, a.data(), b.data(), c.data(), {}, nullptr);
  });
  CHECK(counts.stores.requests == 64 * 64 / (32 * 4));  // each a warp's, four floats a lane
}

TEST_CASE("split_k and few_rows do without parts where the workspace is too small for them") {
  for (Launcher* launch : {&split_k, &few_rows}) {
    const Step<Launcher> step = step_of(launch);
    const int64_t parts = launch == &split_k ? 8 : 2;  // on any device with as many multiprocessors
    for (int64_t bytes : {int64_t{0}, 4 * parts * 2 * 40 - 1})
      check_step(with_workspace(step.name, launch, [=](auto...) { return bytes; }), {2, 40, 1100});
  }
}

TEST_CASE("what is added in parts has the same bits every time") {
  for (Launcher* launch : {&split_k, &thin_tiles, &few_rows, &few_columns, &short_k}) {
    const std::string& name = step_of(launch).name;
    CAPTURE(name);
    // Four parts of 128 elements of K; few_rows' are longer.
    check_same_bits([&] { return run(launch, {4, 50, launch == &few_rows ? 2060 : 512}); });
  }
}

}  // namespace tutorial::tiled_matmul::any_shape
