// The part's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "common/testing/testing.hpp"
#include "few_queries/few_queries.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

const Words SMALL = {"--batch", "1", "--heads",  "4",   "--kv-heads", "2",
                     "--seq",   "2", "--seq-kv", "140", "--head-dim", "8"};

TEST_CASE("few queries: the program checks every step, and finds one wrong element", "[program]") {
  // Of a head 139 + 140 pairs of query and key, 4·8 FLOP each. 8 rows of q and out, 280 of k and v,
  // of 8 numbers of 2 bytes; and lse.
  const ProgramRun run = run_program(SMALL);
  check_all_right(run, names_of(steps) + Words{"plain copy of k"},
                  {.flop = 4 * 279 * 32, .bytes = 4 * (8 + 280) * 8 + 4 * 8});
  CHECK(run.row("plain copy of k").cost.bytes == 2 * 2 * 280 * 8);
  check_counted(run.row("packed_rows"), {{"global_load_bytes", 2 * (8 + 2 * 280) * 8},
                                         {"global_store_bytes", 2 * 8 * 8 + 4 * 8}});
  check_wrong(run_spoiled(SMALL + Words{"--kernel", "split_keys"}, {"split_keys", 63, 1, 0.1f}),
              {"1 of 64 elements", "out[3][1][7]"});
}

TEST_CASE("few queries: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, SMALL);
}

}  // namespace
}  // namespace tutorial::flash_attention::few_queries
