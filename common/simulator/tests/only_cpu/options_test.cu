// What a chapter's program does with the simulator: the options that switch checks off, shuffle the
// order of threads, count and record.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/program/trace_file.hpp"
#include "common/simulator/tests/only_cpu/outcome.hpp"
#include "common/tests/program/copies.hpp"

using namespace tutorial::copies;

namespace {

/// Right values in the end, but every element is written by two threads.
__global__ void writes_twice(float* C, int count) {
  const int i = static_cast<int>(threadIdx.x) % count;
  C[i] = static_cast<int>(threadIdx.x) < count ? 0.0f : 0.5f * static_cast<float>(i);
}
/// Right values only where threads come in the order of their numbers.
__global__ void counts_up(int* next, float* C) {
  C[threadIdx.x] = 0.5f * static_cast<float>(atomicAdd(next, 1));
}

__global__ void double_all(float* C) {
  C[threadIdx.x] *= 2;
}

/// Reads C[0] so often that no trace has room for it.
__global__ void reads_on(volatile float* C) {
  float sum = 0;
  for (int64_t i = 0; i <= tutorial::kMostTraceEvents; ++i) sum += C[0];
  C[0] = 0 * sum;
}
template <class T>
__global__ void write_ones(T* out) {
  out[threadIdx.x] = static_cast<T>(1.0f);
}

const tutorial::Step<Launcher> kTwice = {.name = "twice",
                                         .launch =
                                             [](float* C, int64_t count) {
                                               writes_twice<<<1, 2 * static_cast<int>(count)>>>(
                                                   C, static_cast<int>(count));
                                               CUDA_CHECK_LAUNCH();
                                             },
                                         .idea = "writes each element twice"};
const tutorial::Step<Launcher> kCounts = {
    .name = "counts",
    .launch =
        [](float* C, int64_t count) {
          tutorial::DeviceBuffer<int> next(std::vector<int>(1, 0));
          counts_up<<<1, static_cast<int>(count)>>>(next.data(), C);
          CUDA_CHECK_LAUNCH();
        },
    .idea = "needs one order"};
const tutorial::Step<Launcher> kTwoKernels = {
    .name = "two_kernels",
    .launch =
        [](float* C, int64_t count) {
          std::vector<float> halves = right_values(count);
          for (float& value : halves) value /= 2;
          store(C, halves);
          double_all<<<1, static_cast<int>(count)>>>(C);
          writes_twice<<<1, 2 * static_cast<int>(count)>>>(C, static_cast<int>(count));
          CUDA_CHECK_LAUNCH();
        },
    .idea = "launches two"};

}  // namespace

TEST_CASE("The option --no-checks switches the checks off", "[options]") {
  const Restored restored;
  simulator::switch_checks(true);
  simulator::set_thread_order(0);
  const Ended failed = run_copies({}, {kTwice});
  CHECK(failed.status == 1);
  CHECK_THAT(failed.out,
             ContainsSubstring("FAILED: race, options_test.cu:") && ContainsSubstring(", above"));
  CHECK_THAT(simulator::last_report(), ContainsSubstring("race in writes_twice"));
  CHECK(run_copies({"--no-checks"}, {kTwice}).status == 0);
  CHECK_THAT(run_copies({"--help"}).out, ContainsSubstring("--no-checks"));
}

TEST_CASE("The option --thread-order shuffles the order of threads", "[options]") {
  const Restored restored;
  CHECK(run_copies({"--thread-order", "0"}, {kCounts}).status == 0);
  CHECK(run_copies({"--thread-order", "7"}, {kCounts}).status == 1);
  check_refused(run_copies({"--thread-order", "-1"}, {kCounts}), {"--thread-order", "-1"});
}

TEST_CASE("The option --profile prints what the lines of kernels did", "[options]") {
  const Restored restored;
  const tutorial::Folder folder;
  const std::string path = folder / "profile.csv";
  const Ended ended = run_copies({"--profile", "--profile-csv", path}, {kRight, kCounts});
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, ContainsSubstring("profile of right") &&
                            ContainsSubstring("no kernel of ours ran") &&
                            ContainsSubstring("counts_up, 1 launch\n") &&
                            !ContainsSubstring("profile of cuCopy"));
  CHECK_THAT(
      line_with(tutorial::contents(path), "counts_up"),
      StartsWith("99_copies,\"M=3 N=4 K=5 heads=2 kv-heads=2\",\"counts\",\"counts_up\",1,"));
}

TEST_CASE("The option --sample-csv counts, and compares nothing", "[options]") {
  const Restored restored;
  const tutorial::Folder folder;
  const std::string path = folder / "sample.csv";
  const Ended ended = run_copies({"--sample-csv", path}, {kCounts, kOffByOne, kFails});
  CHECK(ended.status == 1);  // kFails has no launch
  CHECK_THAT(line_with(ended.out, "1 counts"), ContainsSubstring("sampled"));
  CHECK_THAT(line_with(ended.out, "2 off_by_one"), ContainsSubstring("sampled"));
  CHECK_THAT(line_with(ended.out, "3 fails"), ContainsSubstring("FAILED"));
  CHECK_THAT(ended.out, !ContainsSubstring("cuCopy"));
  CHECK_THAT(tutorial::contents(path), ContainsSubstring("counts_up"));
  const Ended written = run_copies({"--sample-csv", path, "--output", folder / "c.npy"}, {kCounts});
  CHECK(written.status == 2);
  CHECK_THAT(written.err, ContainsSubstring("none of the kernels asked for can run here"));
}

TEST_CASE("The option --trace records a kernel", "[options]") {
  const Restored restored;
  const tutorial::Folder folder;
  const std::string path = folder / "trace.json";
  const auto traced = [&](const Words& more) {
    Words words = {"--no-checks", "--kernel", "two_kernels", "--trace", path};
    words.insert(words.end(), more.begin(), more.end());
    return run_copies(words, {kTwoKernels, kRight});
  };
  const Ended first = traced({});
  CHECK(first.status == 0);
  CHECK_THAT(first.out, ContainsSubstring("the trace of double_all, ") &&
                            ContainsSubstring("launches other kernels, too; --trace-kernel takes "
                                              "writes_twice"));
  CHECK_THAT(tutorial::contents(path), ContainsSubstring("\"kernel\": \"double_all\""));
  CHECK_THAT(traced({"--trace-kernel", "writes_twice"}).out,
             ContainsSubstring("the trace of writes_twice, "));
  CHECK_THAT(traced({"--trace-kernel", "writes"}).err,
             ContainsSubstring("no kernel \"writes\" was launched"));

  const tutorial::Step<Launcher> long_one = {.name = "long",
                                             .launch =
                                                 [](float* C, int64_t count) {
                                                   store(C, right_values(count));
                                                   reads_on<<<1, 1>>>(C);
                                                   CUDA_CHECK_LAUNCH();
                                                 },
                                             .idea = "never ends"};
  CHECK_THAT(run_copies({"--no-checks", "--kernel", "long", "--trace", path}, {long_one}).err,
             ContainsSubstring("reads_on has more than 1.00 M events at these sizes"));
}

template <class T, class Launch>
void check_narrow(const Launch& launch) {
  const tutorial::Step<void(T*)> step = {.name = "narrow",
                                         .launch =
                                             [](T* out) {
                                               write_ones<<<1, 2>>>(out);
                                               CUDA_CHECK_LAUNCH();
                                             },
                                         .idea = "writes ones"};
  const tutorial::Folder folder;
  const std::string path = folder / "trace.json";
  const Ended ended =
      run_program({"--kernel", "narrow", "--trace", path}, listed(std::vector{step}),
                  [&](const tutorial::Options&, tutorial::Table& table) {
                    table.problem("C[2] = 1", {.flop = 1, .bytes = 4}, {2});
                    auto row = launch(table, step, [](auto run, T* out) { return run(out); });
                    table.add(row, tutorial::compare(row.output, {{1, 1}, {0, 0}}, row.layout));
                  });
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out,
             ContainsSubstring(": the trace of write_ones") && !ContainsSubstring("other kernels"));
}

TEST_CASE("A step that writes fp16 or bf16 is traced, too", "[options]") {
  const Restored restored;
  check_narrow<__half>([](tutorial::Table& table, const auto& step, const auto& call) {
    return table.launch_fp16(step, call);
  });
  check_narrow<__nv_bfloat16>([](tutorial::Table& table, const auto& step, const auto& call) {
    return table.launch_bf16(step, call);
  });
}
