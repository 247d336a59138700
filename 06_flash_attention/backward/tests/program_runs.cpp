// The program's part backward: what it computes, says and finds.
#include "any_shape/any_shape.hpp"
#include "backward/backward_program.hpp"
#include "backward/tests/problems.hpp"
#include "common/kernel/error.hpp"
#include "common/testing/program_run.hpp"

namespace tutorial::flash_attention::backward {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("backward: the program checks every step, and says what each keeps", "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "12"));
  // Of a head 78 pairs, 10·8 FLOP each. 24 rows of q, out, dout and dq, 12 of k, v, dk and dv, of 8
  // floats; and lse.
  check_all_right(run, names_of(steps),
                  {.flop = 2 * 78 * 80, .bytes = 16 * (24 + 12) * 8 + 4 * 24});
  // D is made of out and dout; one block reads q, dout, lse and D of both heads, and k and v; dq's
  // only part is copied.
  check_counted(run.row("five_products"),
                {{"global_load_bytes", 4 * (2 * 192 + (2 * 192 + 2 * 24 + 2 * 96) + 192)},
                 {"global_store_bytes", 4 * (24 + (2 * 96 + 192) + 192)}});
  CHECK_THAT(run.out,
             ContainsSubstring("dq, dk, dv of softmax(q·kᵀ/√8)·v, q[1×2×12×8], 12 keys, 1 key and "
                               "value heads, causal, fp32\n12.5 kFLOP, at least 4.70 kB"));
  CHECK_THAT(
      run.out,
      ContainsSubstring(
          "unfused 2.30 kB for p and ds (8·B·NH·Tq·Tk), stored_ds 1.15 kB for ds; all steps 96 B "
          "for D (4·B·NH·Tq), five_products 768 B for parts of dq, bounded_parts 768 B"));
}

TEST_CASE("backward: the program's forward pass takes heads that q_outer does not") {
  const SmallSharedMemory small(48 * 1024);
  const Problem p = normal_problem({.NH = 2, .NH_kv = 1, .Tq = 5, .Tk = 7, .HS = 128});
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(p.shape.rows() * p.shape.HS), lse(p.shape.rows());
  DeviceBuffer<std::byte> memory(any_shape::workspace_bytes(p.shape));
  CHECK_THROWS_AS(
      q_outer_on(p.shape, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr),
      DeviceTooSmall);
  forward_pass(p.shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
               nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  const flash_attention::Reference want =
      flash_attention::reference(p.shape, p.q, p.k, p.v, all_rows(p.shape.rows()));
  CHECK(compare(out.to_host(), want.out, {.name = "out", .batch = 2, .rows = 5, .cols = 128}).ok);
  CHECK(compare(lse.to_host(), want.lse, {.name = "lse", .batch = 2, .rows = 5}).ok);
}

// Of a head size of 1 each tensor has a number a row, as lse and D do: q, k, v, out and dout, dq,
// dk and dv are ten with these.
TEST_CASE("backward: the program says how much memory it needs", "[program]") {
  const ProgramRun run = run_program(
      {"--heads", "1000000000", "--seq", "1000", "--head-dim", "1", "--kernel", "fused"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, ContainsSubstring("this problem needs 40.0 TB of global memory"));
}

TEST_CASE("backward: the program takes problems of nothing", "[program]") {
  for (const Words& options :
       {sizes("0", "0", "12", "12"), sizes("2", "1", "0", "12"), sizes("2", "1", "12", "0"),
        Words{"--head-dim", "0", "--seq", "9"}}) {
    const ProgramRun run = run_program(options);
    INFO(run.command);
    CHECK(run.status == 0);
    for (const std::string& step : names_of(steps)) CHECK(run.row(step).check == "ok");
  }
}

TEST_CASE("backward: the program counts the pairs that are seen", "[program]") {
  const auto costs = [](const Words& options, double pairs, double bytes) {
    const ProgramRun run = run_program(options + Words{"--kernel", "fused"});
    check_all_right(run, {"fused"}, {.flop = 80 * pairs, .bytes = bytes});
  };
  costs(sizes("2", "2", "10", "14"), 2 * (10 * 4 + 55), 16 * (20 + 28) * 8 + 4 * 20);
  costs(sizes("1", "1", "14", "10"), 55, 16 * (14 + 10) * 8 + 4 * 14);
  costs(sizes("1", "1", "14", "10") + Words{"--full"}, 140, 16 * (14 + 10) * 8 + 4 * 14);
}

TEST_CASE("backward: the program finds one wrong element of dq, of dk and of dv", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "unfused"};
  check_wrong(run_spoiled(small, {"unfused", 191, 1, 0.001f}),
              {"1 of 192 elements", "dq[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"unfused", 192 + 103, 1, 0.001f}),
              {"1 of 104 elements", "dk[12][7]"});
  check_wrong(run_spoiled(small, {"unfused", 192 + 104, 1, 0.001f}),
              {"1 of 104 elements", "dv[0][0]"});
}

TEST_CASE("backward: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("1", "1", "3", "3"));
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
