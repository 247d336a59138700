// The file of a trace, from one that is made by hand.
#include "common/program/trace_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "common/backend/backend.hpp"
#include "common/program/options.hpp"
#include "common/tests/program/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

namespace {

const std::string kHere = TUTORIAL_SOURCE_DIR "/common/tests/program/trace_file_test.cpp";

LaunchTrace small_trace() {
  const float infinity = std::numeric_limits<float>::infinity();
  LaunchTrace trace;
  trace.kernel = "kernel<16>";
  trace.path = kHere;
  for (int64_t* size : {trace.grid, trace.block}) size[0] = 2, size[1] = size[2] = 1;
  trace.places = {{kHere, 1},
                  {"/elsewhere/tile.cuh", 7},
                  {"../common/tests/program/trace_file_test.cpp", 1},  // the first one again
                  {"elsewhere/x.cu", 7},
                  {kHere, 3}};
  trace.arrays = {{.name = "x", .shape = {6}, .type = "float", .element_bytes = 4, .begin = 4096},
                  {.name = "slots",
                   .is_shared = true,
                   .shape = {2, 3},
                   .type = "int32",
                   .element_bytes = 4,
                   .offset_bytes = 16}};
  trace.events = {
      {.warp = 0, .what = TraceEvent::What::load, .array = 1, .lanes = {0, 1}, .elements = {4, 5}},
      {.what = TraceEvent::What::barrier, .place = 1},
      {.block = 1,
       .warp = 3,
       .what = TraceEvent::What::store,
       .array = 0,
       .width = 2,
       .lanes = {0, 1},
       .elements = {0, 2},
       .values = {1.0f / 3, -infinity, NAN, infinity}},
      {.block = 1,
       .warp = 3,
       .what = TraceEvent::What::warp,
       .lanes = {0, 1},
       .operation = "shuffle",
       .from = {1, 0}}};
  return trace;
}

}  // namespace

TEST_CASE("A trace as a file", "[trace]") {
  const TraceHead head = {
      .program = "02", .step = "a \"step\"", .options = "--csv=\\\t3", .seed = 7};
  CHECK(trace_text(head, small_trace()) == R"({
"program": "02",
"step": "a \"step\"",
"options": "--csv=\\ 3",
"seed": 7,
"kernel": "kernel<16>",
"file": "common/tests/program/trace_file_test.cpp",
"grid": [2,1,1],
"block": [2,1,1],
"lines": {
"1": "// The file of a trace, from one that is made by hand.",
"/elsewhere/tile.cuh:7": "",
"elsewhere/x.cu:7": "",
"3": ""
},
"arrays": [
{"name":"x","space":"global","shape":[6],"element_bytes":4,"type":"float"},
{"name":"slots","space":"shared","shape":[2,3],"element_bytes":4,"type":"int32","offset_bytes":16}
],
"lists": [
[0,1]
],
"events": [
{"block":0,"warp":0,"line":1,"what":"load","array":1,"lanes":0,"elements":[4,5]},
{"block":0,"warp":null,"line":"/elsewhere/tile.cuh:7","what":"barrier"},
{"block":1,"warp":3,"line":1,"what":"store","array":0,"width":2,"lanes":0,"elements":[0,2],"values":[0.33333,"-inf","nan","inf"]},
{"block":1,"warp":3,"line":1,"what":"warp","operation":"shuffle","lanes":0,"from":[1,0]}
]
}
)");
}

TEST_CASE("The options in a trace are those that make its problem", "[trace]") {
  CHECK(words_of_trace({"program", "--m", "3", "--kernel=a", "--trace", "file", "--full", "--seed",
                        "2", "--csv=x", "--n=4"}) == "--m 3 --full --n=4");
}

TEST_CASE("The output's shape is that of its array", "[trace]") {
  LaunchTrace trace = small_trace();
  const auto* output = reinterpret_cast<const float*>(uintptr_t{4096});
  give_shapes(trace, {}, output, {4, 2});  // not as many elements
  CHECK(trace.arrays[0].shape == std::vector<int64_t>{6});
  give_shapes(trace, {}, output, {3, 2});
  CHECK(trace.arrays[0].shape == std::vector<int64_t>{3, 2});
  CHECK(trace.arrays[1].shape == std::vector<int64_t>{2, 3});
}

TEST_CASE("The shape of an input is that of its array, if the device has it", "[trace]") {
  Options options;
  for (const char* name : {"a", "b"}) {
    options.inputs.push_back(std::make_unique<Input>(InputOption{name, {}, ""}));
    options.inputs.back()->settle({3, 2}, Init::normal, 1);
  }
  LaunchTrace trace = small_trace();
  trace.arrays[0].begin = reinterpret_cast<uintptr_t>(options.inputs[1]->device());
  trace.arrays.push_back(trace.arrays[0]);
  trace.arrays.back().type = "int32";               // the same memory, taken for something else
  trace.arrays.push_back(small_trace().arrays[0]);  // elsewhere
  give_shapes(trace, options, nullptr, {6});
  CHECK(trace.arrays[0].shape == std::vector<int64_t>{3, 2});
  for (const size_t other : {2, 3}) CHECK(trace.arrays[other].shape == std::vector<int64_t>{6});
}

TEST_CASE("Why there is no trace", "[trace]") {
  RunOutcome outcome;
  Result other, step;
  other.name = "other", other.verdict = Verdict::failed;
  step.name = "step", step.message = "this is why";
  const auto why = [&](Verdict verdict, const std::string& kernel = "") {
    step.verdict = verdict;
    outcome.results = {other, step};
    return why_no_trace("step", kernel, outcome);
  };
  CHECK(why(Verdict::failed) == "step failed: this is why");
  CHECK(why(Verdict::refused) == "step was not run: this is why");
  CHECK(why(Verdict::ok, "sum") == "step launches no kernel at these sizes");
  outcome.trace.others = {"sum_rows"};
  CHECK(why(Verdict::ok) == "step launches no kernel at these sizes");
  CHECK(why(Verdict::ok, "mul") == "no kernel \"mul\" was launched; --trace-kernel takes sum_rows");
  outcome.trace.were_clusters = true;
  CHECK_THAT(why(Verdict::ok), ContainsSubstring("run in clusters"));
}

TEST_CASE("A trace is asked for where it can be made", "[trace]") {
  const Folder folder;
  const std::string file = folder / "trace.json";
  if (device_has_clock()) {
    check_refused(run_copies({"--kernel", "right", "--trace", file}), {"on the CPU backend"});
  } else {
    check_refused(run_copies({"--trace", file}), {"--trace records one step"});
    check_refused(
        run_copies({"--kernel", "right,also_right", "--trace", file}, {kRight, kAlsoRight}),
        {"--trace records one step"});
    check_refused(run_copies({"--trace-kernel", "k"}), {"give --trace FILE"});
    check_refused(run_copies({"--kernel", "right", "--trace", file, "--csv", file}),
                  {"--csv and --trace both name"});
    // This step copies, and launches nothing.
    const Ended none = run_copies({"--kernel", "right", "--trace", file}, {kRight});
    CHECK(none.status == 2);
    CHECK_THAT(none.err, ContainsSubstring("right launches no kernel at these sizes"));
  }
  CHECK_FALSE(std::filesystem::exists(file));
}
