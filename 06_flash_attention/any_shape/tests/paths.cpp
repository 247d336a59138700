// The rules of paths.hpp on both sides, and steps 5 and 6 where they lead elsewhere.
#include "any_shape/paths.hpp"

#include <cstddef>
#include <utility>

#include "common/kernel/grid.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

Attention decoding(int64_t batch, int64_t queries, int64_t keys, int64_t head_size = 128) {
  return {.B = batch, .NH = 32, .NH_kv = 8, .Tq = queries, .Tk = keys, .HS = head_size};
}

TEST_CASE("group_rows takes the least tile that holds the rows of a group") {
  const auto rows = [](const Attention& shape) {
    const RowTiles tiles = tiles_of_groups(shape);
    CHECK(tiles.count == shape.B * shape.NH_kv * ceil_div(4 * shape.Tq, tiles.rows));
    CHECK(split_of(shape, 132).rows == tiles.rows);
    CHECK(split_of(shape, 132).count == tiles.count);
    return tiles.rows;
  };
  CHECK(rows(decoding(8, 1, 4096)) == 4);
  CHECK(rows(decoding(8, 2, 4096)) == 8);
  CHECK(rows(decoding(8, 3, 4096)) == 16);
  CHECK(rows(decoding(8, 4, 4096)) == 16);
  CHECK(rows(decoding(8, 5, 4096)) == 32);
  CHECK(rows(decoding(8, 5, 4096, 128)) == 32);
  CHECK(rows(decoding(8, 5, 4096, 136)) == 16);
}

TEST_CASE("own_keys takes the least tile that holds the queries of a head") {
  const auto tiles = [](const Attention& shape) {
    const RowTiles tiles = tiles_of_heads(shape);
    return std::pair(tiles.rows, tiles.count);
  };
  CHECK(tiles(decoding(8, 1, 4096)) == std::pair<int64_t, int64_t>(4, 8 * 32));
  CHECK(tiles(decoding(8, 5, 4096)) == std::pair<int64_t, int64_t>(8, 8 * 32));
  CHECK(tiles(decoding(8, 33, 4096)) == std::pair<int64_t, int64_t>(32, 8 * 32 * 2));
  CHECK(tiles(decoding(8, 33, 4096, 136)) == std::pair<int64_t, int64_t>(16, 8 * 32 * 3));
  CHECK(tiles({.NH = 0, .NH_kv = 0}).second == 0);
}

TEST_CASE("split_keys has as many parts as keep a device busy, and no empty one") {
  const auto parts = [](const Attention& shape) {
    const Split split = split_of(shape, 132);
    CHECK(split.keys % STEP_KEYS == 0);
    CHECK(split.parts * split.keys >= shape.Tk);
    CHECK((split.parts - 1) * split.keys < std::max<int64_t>(shape.Tk, 1));
    return split.parts;
  };
  CHECK(parts(decoding(8, 1, 4096)) == 2);  // 64 tiles: 128 blocks of 132
  CHECK(parts(decoding(8, 2, 4096)) == 2);
  CHECK(parts(decoding(8, 4, 4096)) == 4);      // tiles of 16 rows: 256 blocks of 264
  CHECK(parts(decoding(8, 16, 4096)) == 2);     // two tiles of 32 rows
  CHECK(parts(decoding(8, 1, 4096, 64)) == 4);  // 256 blocks of 264
  CHECK(parts(decoding(8, 1, 4096, 72)) == 2);
  CHECK(parts(decoding(8, 16, 4096, 136)) == 1);  // four tiles of 16 rows: 256 blocks of 132
  CHECK(parts(decoding(1, 1, 4096)) == 16);
  CHECK(parts(decoding(1, 1, 131072)) == 16);  // longer parts, not more
  CHECK(parts(decoding(1, 1, 128)) == 1);      // no more than there are keys
  CHECK(parts(decoding(1, 1, 129)) == 2);
  CHECK(parts(decoding(132, 1, 4096)) == 1);  // enough tiles
  CHECK(parts(decoding(1, 1, 0)) == 1);
}

TEST_CASE("few_queries: more than half of the threads would have no query") {
  const auto few = [](const Attention& shape) { return few_queries(shape, 132); };
  CHECK(few(decoding(8, 16, 4096)));
  CHECK(few(decoding(512, 1, 4096)));
  CHECK(few({.NH = 8, .NH_kv = 8, .Tq = 333, .Tk = 333, .HS = 64}));
  // 264 blocks have places for 33792 queries, 132 for half as many.
  CHECK(few({.NH = 131, .NH_kv = 131, .Tq = 128, .Tk = 128, .HS = 64}));
  CHECK_FALSE(few({.NH = 132, .NH_kv = 132, .Tq = 128, .Tk = 128, .HS = 64}));
  CHECK_FALSE(few({.NH = 96, .NH_kv = 96, .Tq = 333, .Tk = 333, .HS = 64}));  // 288 blocks
  CHECK(few({.NH = 300, .NH_kv = 300, .Tq = 63, .Tk = 63, .HS = 64}));        // half filled
  CHECK_FALSE(few({.NH = 300, .NH_kv = 300, .Tq = 64, .Tk = 64, .HS = 64}));
  CHECK_FALSE(few({.NH = 66, .NH_kv = 66, .Tq = 128, .Tk = 128, .HS = 72}));
  CHECK_FALSE(few({.B = 8, .NH = 12, .NH_kv = 12, .Tq = 1024, .Tk = 1024, .HS = 64}));
  CHECK_FALSE(few({.NH = 0, .NH_kv = 0, .Tq = 5, .Tk = 5, .HS = 64}));
}

std::vector<float> result(Launcher* launch, const Problem& p) {
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(p.shape.rows() * p.shape.HS), lse(p.shape.rows());
  DeviceBuffer<std::byte> memory(workspace_bytes(p.shape));
  launch(p.shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
         nullptr);
  return out.to_host();
}

TEST_CASE("large_heads gives what the step before it gives, up to 128", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != large_heads) return;
  for (int64_t HS : {1, 5, 24, 128}) {
    const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 20, .HS = HS};
    if (is_too_large_here(step, shape)) continue;
    const Problem problem = normal_problem(shape);
    CHECK(result(large_heads, problem) == result(head_sizes, problem));  // the same bits
  }
}

TEST_CASE("by_shape gives what the step gives that the rule names") {
  const FewMultiprocessors four(4);
  // One side has one query a head, the other fills a block's 128 in every head.
  const Attention few = {.NH = 4, .NH_kv = 2, .Tq = 1, .Tk = 300, .HS = 8};
  const Attention many = {
      .NH = 2 * multiprocessors(), .NH_kv = 2, .Tq = 128, .Tk = 5, .HS = 8, .causal = false};
  if (is_too_large_here(Step<Launcher>{.name = "by_shape", .launch = by_shape}, many)) return;
  for (const Attention& shape : {few, many}) {
    CAPTURE(text(shape));
    const Problem problem = normal_problem(shape);
    const bool is_few = shape.Tq == 1;
    CHECK(few_queries(shape, multiprocessors()) == is_few);
    const std::vector<float> got = result(by_shape, problem);
    CHECK(got == result(is_few ? split_keys : large_heads, problem));  // the same bits
    if (is_few) CHECK(got != result(large_heads, problem));
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
