// The frame of the chapters' programs: what a run prints and writes, and its exit status.
#include <catch2/generators/catch_generators.hpp>

#include "common/tests/program/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

TEST_CASE("A run prints the device, the problem and a table", "[chapter]") {
  const Ended ended = run_copies({}, {kRight, kAlsoRight});
  CHECK(ended.status == 0);
  CHECK(ended.err.empty());
  CHECK_THAT(ended.out, StartsWith("99_copies · " + device_description()));
  CHECK_THAT(ended.out, ContainsSubstring("\nC[M×N] = i / 2\n"));
  CHECK_THAT(ended.out, ContainsSubstring("1 kFLOP, at least 4 kB, 0.25 FLOP/byte") ||
                            ContainsSubstring("1.00 kFLOP, at least 4.00 kB, 0.25 FLOP/byte"));
  CHECK_THAT(ended.out, ContainsSubstring("bound by memory"));
  CHECK_THAT(line_with(ended.out, "1 right"), ContainsSubstring("ok"));
  CHECK_THAT(line_with(ended.out, "2 also_right"), ContainsSubstring("ok"));
  CHECK_THAT(line_with(ended.out, "  cuCopy "), ContainsSubstring("ok"));
  CHECK(ended.out.find("also_right") < ended.out.find("  cuCopy"));
  if (device_has_clock()) {
    CHECK_THAT(ended.out, ContainsSubstring("(measured)") && ContainsSubstring("of cuCopy"));
    CHECK_THAT(line_with(ended.out, "  cuCopy "), ContainsSubstring("100 %"));
  } else {
    CHECK_THAT(ended.out, ContainsSubstring("counts, not GPU times"));
    CHECK_THAT(ended.out, !ContainsSubstring(" ms") && !ContainsSubstring("of cuCopy"));
  }
}

TEST_CASE("A wrong kernel is reported and not timed, and the program fails", "[chapter]") {
  const Step<Launcher> wrong = GENERATE(kOffByOne, kSilent);
  const Ended ended = run_copies({}, {wrong, kRight});
  INFO(ended.out);
  CHECK(ended.status == 1);
  CHECK_THAT(ended.out,
             ContainsSubstring("99_copies · step " + std::string(wrong.name) + " · M=3 N=") &&
                 ContainsSubstring("heads=2 kv-heads=2 · WRONG\n") && ContainsSubstring("1 wrong"));
  const std::string row = line_with(ended.out, "1 " + std::string(wrong.name));
  CHECK_THAT(row, ContainsSubstring("WRONG") && !ContainsSubstring("%"));
  CHECK_THAT(line_with(ended.out, "2 right"), ContainsSubstring("ok"));  // the program goes on
}

TEST_CASE("A kernel that fails to launch is a failed row", "[chapter]") {
  const Ended ended = run_copies({}, {kFails, kRight});
  CHECK(ended.status == 1);
  CHECK_THAT(line_with(ended.out, "1 fails"),
             ContainsSubstring("FAILED: step3_fails.cu:41: launch: "));
  CHECK_THAT(line_with(ended.out, "2 right"), ContainsSubstring("ok"));
}

TEST_CASE("A launcher may refuse a problem", "[chapter]") {
  const Ended all = run_copies({}, {kRefuses, kRight});
  CHECK(all.status == 0);
  CHECK_THAT(line_with(all.out, "1 refuses"), ContainsSubstring("refused: this head size needs"));
  // Who chose steps of which one can is told by its row; who chose none that can, by the exit
  // status.
  const Ended some = run_copies({"--kernel", "refuses,right"}, {kRefuses, kRight, kAlsoRight});
  CHECK(some.status == 0);
  CHECK_THAT(line_with(some.out, "1 refuses"), ContainsSubstring("refused: this head size needs"));
  CHECK_THAT(line_with(some.out, "2 right"), ContainsSubstring("ok"));
  check_refused(run_copies({"--kernel", "refuses"}, {kRefuses, kRight}), {"this head size needs"});
  check_refused(run_copies({}, {kRefuses, kElsewhere}),
                {"no step can do this", "this head size needs"});
}

TEST_CASE("What no step can do is refused before anything is computed", "[chapter]") {
  bool computed = false;
  int asked = 0;
  const auto run = [&](const Words& words, const std::vector<Step<Launcher>>& steps) {
    computed = false;
    asked = 0;
    return run_program(words, listed(steps), [&](const Options&, Table& table) {
      table.require_a_step(steps, [&](Launcher* launch) {
        ++asked;
        launch(nullptr, 0);
      });
      computed = true;
    });
  };
  check_refused(run({}, {kRefuses, kRefuses, kElsewhere}),
                {"no step can do this; the first says: this head size needs 300 KB"});
  CHECK((!computed && asked == 2));  // what needs another GPU cannot be asked
  const Ended one = run({"--kernel", "refuses"}, {kRefuses, kAlsoRight});
  check_refused(one, {"this head size needs"});
  CHECK_THAT(one.err, StartsWith("this head size"));
  CHECK((!computed && asked == 1));
  CHECK(run({}, {kRefuses, kAlsoRight}).status == 0);
  CHECK(computed);
}

TEST_CASE("What cannot run here is skipped, not passed", "[chapter]") {
  const Ended ended = run_copies({}, {kElsewhere, kRight});
  CHECK(ended.status == 0);
  CHECK_THAT(line_with(ended.out, "1 elsewhere"),
             ContainsSubstring("skipped: needs sm_10a") && !ContainsSubstring("ok"));
  check_refused(run_copies({"--kernel=elsewhere"}, {kElsewhere, kRight}),
                {"none of the kernels asked for can run here: needs sm_10a"});
}

TEST_CASE("Output that gets lost is a failure", "[chapter]") {
  const Words words = GENERATE(Words{"--list"}, Words{});
  const Ended ended = run_program(words, [](int argc, char** argv) {
    std::cout.setstate(std::ios::badbit);  // as after a write to a full disk
    const Options options = read_options(argc, argv, {.program = "99_copies"});
    return Table(options).finish();
  });
  std::cout.clear();
  CHECK(ended.status == 2);
  CHECK_THAT(ended.err, ContainsSubstring("not all of the output could be written"));
}

TEST_CASE("A CUDA error outside of a kernel ends the program with its message", "[chapter]") {
  const std::vector<Step<Launcher>> steps = {kRight};
  const Ended ended = run_program({}, listed(steps), [&](const Options&, Table& table) {
    table.problem("C", {.flop = 1, .bytes = 8}, {2});
    auto row = table.launch(kRight, [](auto run, float* C) { return run(C, 2); });
    table.add(row, Comparison{});
    fails(nullptr, 0);
  });
  CHECK(ended.status == 1);
  CHECK_THAT(ended.err, StartsWith("step3_fails.cu:41: launch: "));
  CHECK_THAT(line_with(ended.out, "1 right"), ContainsSubstring("ok"));  // what there is
}

TEST_CASE("A stage has its own shape and cost", "[chapter]") {
  const Ended ended = run_program({}, {}, [&](const Options&, Table& table) {
    table.problem("y", {.flop = 1, .bytes = 8}, {2});
    int restored = 0;
    auto row = table.launch(Row{.name = "permute",
                                .launch = [&](float*) { CHECK(restored > 0); },
                                .before = [&](float*) { ++restored; },
                                .shape = {2, 1, 3, 4},
                                .cost = {.flop = 0, .bytes = 192},
                                .is_stage = true});
    REQUIRE(row);
    CHECK(row.output.size() == 24);
    CHECK((row.layout.batch == 2 && row.layout.rows == 3 && row.layout.cols == 4));
    CHECK(table.add(row, Comparison{}));
    CHECK(!row);
    CHECK(!table.add(row, Comparison{}));  // a row once
    table.note("the note");
  });
  CHECK(ended.status == 0);
  CHECK_THAT(line_with(ended.out, "permute"), StartsWith("    permute"));
  CHECK(ended.out.find("the note") > ended.out.find("permute"));
}

TEST_CASE("What bounds a problem depends on its arithmetic", "[chapter]") {
  if (device_has_clock()) SKIP("a GPU measures its own ridge point");
  const auto said = [](Arithmetic arithmetic) {
    return run_program({}, {},
                       [&](const Options&, Table& table) {
                         table.problem("C", {.flop = 1e6, .bytes = 5e3, .arithmetic = arithmetic},
                                       {1});
                       })
        .out;
  };
  CHECK_THAT(said(Arithmetic::fp32),
             ContainsSubstring("ridge point is 20.0 → bound by arithmetic"));
  CHECK_THAT(said(Arithmetic::tf32), ContainsSubstring("ridge point is 148 → bound by arithmetic"));
  CHECK_THAT(said(Arithmetic::bf16), ContainsSubstring("ridge point is 295 → bound by memory"));
  CHECK_THAT(said(Arithmetic::fp8), ContainsSubstring("ridge point is 591 → bound by memory"));
}

TEST_CASE("A result may be a single number", "[chapter]") {
  const Ended ended = run_program({}, {}, [&](const Options&, Table& table) {
    table.problem("s", {.flop = 1, .bytes = 4}, {});
    auto row = table.launch(Row{.name = "sum", .launch = [](float* s) { right(s, 1); }});
    REQUIRE(row.output.size() == 1);
    CHECK((row.layout.rows == 1 && row.layout.cols == 1));
    table.add(row, Comparison{});
  });
  CHECK_THAT(line_with(ended.out, "sum"), ContainsSubstring("ok"));
}

TEST_CASE("An empty problem passes", "[chapter]") {
  const Ended ended = run_copies({"--m", "0"}, {kRight});
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, ContainsSubstring("an empty problem"));
  CHECK_THAT(line_with(ended.out, "1 right"), ContainsSubstring("ok"));
}

TEST_CASE("The option --output writes the last step's result, or nothing", "[chapter]") {
  const Folder folder;
  const std::string path = folder / "c.npy";
  SECTION("a right result") {
    const Ended ended = run_copies({"--output", path}, {kRight, kAlsoRight, kElsewhere});
    CHECK(ended.status == 0);
    CHECK_THAT(ended.out, ContainsSubstring("wrote " + path) && ContainsSubstring("also_right"));
    const Tensor written = read_npy(path);
    CHECK(written.shape == std::vector<int64_t>{3, device_has_clock() ? 40 : 4});
    CHECK(written.values == right_values(element_count(written.shape)));
  }
  SECTION("a wrong kernel") {
    const Ended ended = run_copies({"--output", path}, {kRight, kOffByOne});
    CHECK(ended.status == 1);
    CHECK_THAT(ended.out, ContainsSubstring("nothing was written to " + path));
    CHECK(folder.is_empty());
  }
  SECTION("bad input") {
    CHECK(run_copies({"--output", path, "--m", "-1"}).status == 2);
    CHECK(folder.is_empty());
  }
}

TEST_CASE("The option --csv writes a row a step", "[chapter]") {
  const Folder folder;
  const std::string path = folder / "table.csv";
  const Ended ended = run_copies({"--csv", path}, {kRight, kOffByOne, kElsewhere});
  CHECK(ended.status == 1);
  const std::string csv = contents(path);
  CHECK_THAT(csv, StartsWith("chapter,device,problem,step,kind,check,message,max_error,bound,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  const std::string row = line_with(csv, "\"right\"");
  CHECK_THAT(row, StartsWith("\"99_copies\",\"" + device_description() + "\",\"C[M×N] = i / 2\"") &&
                      ContainsSubstring(",step,ok,\"\",0,"));
  CHECK_THAT(line_with(csv, "\"off_by_one\""), ContainsSubstring(",step,WRONG,\"\",1,1e-06,"));
  CHECK_THAT(line_with(csv, "\"elsewhere\""), ContainsSubstring(",step,skipped,\"needs sm_10a"));
  CHECK_THAT(line_with(csv, "\"cuCopy\""), ContainsSubstring(",vendor,ok,"));
}

TEST_CASE("A step may write bf16: its output is checked, and written to a file, as float32",
          "[chapter]") {
  const float value = GENERATE(0.5f, 0.75f);
  using Narrow = void(__nv_bfloat16*);
  static float written;
  written = value;
  const Step<Narrow> step = {
      .name = "narrow",
      .launch =
          [](__nv_bfloat16* out) {
            const std::vector<__nv_bfloat16> values(2, written);
            CUDA_CHECK(cudaMemcpy(out, values.data(), 4, cudaMemcpyHostToDevice));
          },
      .idea = "writes bf16"};
  const Folder folder;
  const std::string path = folder / "out.npy";
  const std::vector<ListedStep> steps = listed(std::vector{step});
  const Ended ended = run_program({"--output", path}, steps, [&](const Options&, Table& table) {
    table.problem("C[2] = 0.5, bf16", {.bytes = 4, .arithmetic = Arithmetic::bf16}, {2});
    auto row = table.launch_bf16(step, [](auto run, __nv_bfloat16* out) { return run(out); });
    table.add(row, compare(row.output, in_bf16({{0.5, 0.5}, {0, 0}}), row.layout));
  });
  INFO(ended.out << ended.err);
  CHECK(ended.status == (value == 0.5f ? 0 : 1));
  CHECK_THAT(line_with(ended.out, "1 narrow"), ContainsSubstring(value == 0.5f ? "ok" : "WRONG"));
  if (value == 0.5f) CHECK(read_npy(path).values == std::vector<float>{0.5f, 0.5f});
}
