// The order of tickets (schedule.hpp).
#include "hopper/schedule.hpp"

#include <algorithm>
#include <set>

#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

TEST_CASE("hopper: tickets name every tile once, and the longest of a section first") {
  for (const Schedule& s : {Schedule{.heads = 5, .tiles = 3, .section = 2},
                            Schedule{.heads = 4, .tiles = 1, .section = 4},
                            Schedule{.heads = 6, .tiles = 4, .section = 1}}) {
    std::set<std::pair<int64_t, int64_t>> seen;
    int64_t before = s.tiles, section = 0;
    for (int64_t ticket = 0; ticket < s.tickets(); ++ticket) {
      const auto [head, tile] = s.place(ticket);
      CHECK((head >= 0 && head < s.heads && tile >= 0 && tile < s.tiles));
      seen.insert({head, tile});
      if (head / s.section != section) before = s.tiles;
      section = head / s.section;
      CHECK(tile <= before);
      before = tile;
    }
    CHECK(static_cast<int64_t>(seen.size()) == s.tickets());
  }
}

// What docs/06_hopper.md counts: 64 heads of 4096 queries, causal, on 132 multiprocessors. A tile
// takes as long as it sees tiles of keys.
TEST_CASE("hopper: by tickets no block ends much later than the others") {
  const Attention shape = {.B = 4, .NH = 16, .NH_kv = 16, .Tq = 4096, .Tk = 4096, .HS = 128};
  const Schedule s = schedule_of(shape, 128);
  const auto check = [](const std::vector<int64_t>& ends, int64_t first, int64_t last) {
    CHECK(std::ranges::min(ends) == first);
    CHECK(std::ranges::max(ends) == last);
  };
  std::vector<int64_t> in_turn(132), by_ticket(132), longest_first(132);
  for (int64_t tile = 0; tile < s.tickets(); ++tile) {
    in_turn[tile % 132] += tile % s.tiles + 1;
    // Whoever is done first takes the next one.
    *std::ranges::min_element(by_ticket) += tile % s.tiles + 1;
    *std::ranges::min_element(longest_first) += s.place(tile).tile + 1;
  }
  check(in_turn, 211, 288);
  check(by_ticket, 245, 277);
  check(longest_first, 254, 258);
}

TEST_CASE("hopper: a section's keys and values fit into the L2 cache") {
  // 2·4096·128·2 bytes a head: 16 of them, and of heads that share keys four times as many.
  CHECK(schedule_of({.B = 4, .NH = 16, .NH_kv = 16, .Tq = 4096, .Tk = 4096, .HS = 128}, 128)
            .section == 16);
  CHECK(
      schedule_of({.B = 4, .NH = 32, .NH_kv = 8, .Tq = 4096, .Tk = 4096, .HS = 128}, 128).section ==
      64);
  CHECK(schedule_of({.NH = 3, .NH_kv = 3, .Tq = 5, .Tk = 5, .HS = 8}, 128).section == 3);
  CHECK(
      schedule_of({.NH = 2, .NH_kv = 2, .Tq = 5, .Tk = int64_t{1} << 30, .HS = 128}, 128).section ==
      1);
  CHECK(
      schedule_of({.NH = 8, .NH_kv = 2, .Tq = 5, .Tk = 5, .HS = 8, .causal = false}, 128).section ==
      4);
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
