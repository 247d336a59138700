// --profile: what stands beside the lines of a source, and below it.
#include "common/program/source_profile.hpp"

#include "common/tests/program/copies.hpp"

using namespace tutorial;
using namespace tutorial::copies;

namespace {

/// Two lines of a kernel, of which one has conflicts.
KernelProfile profile_of(const std::string& path) {
  KernelProfile kernel = {.kernel = "copy_kernel<4>", .launches = 2};
  ProfiledLine load, store;
  load.path = store.path = path;
  load.line = 3, store.line = 4;
  // 32 bytes a sector: 4·1024 bytes lie in 500.
  load.counts.loads = {.requests = 40, .lanes = 1000, .bytes = 4096, .sectors = 500};
  load.counts.shared_stores = {.requests = 10, .lanes = 320, .wavefronts = 10};
  store.counts.shared_loads = {
      .requests = 10, .lanes = 320, .wavefronts = 40, .conflicts = 30, .mergeable = 6};
  store.counts.stores = {.requests = 32, .lanes = 1024, .bytes = 4096, .sectors = 128};
  store.counts.barriers = 6;
  kernel.lines = {load, store};
  kernel.total = load.counts;
  kernel.total += store.counts;
  return kernel;
}

}  // namespace

TEST_CASE("a profile has the figures of each line beside it, and the sums", "[chapter]") {
  const Folder folder;
  const std::string path = folder / "step.cu";
  put(path, "// a step\n__global__ void copy_kernel() {\n  load();\n  store();\n}\n");
  const Capture out(std::cout);
  print_profile("profile of copy", {profile_of(path)},
                {{"copy_kernel", 4000, 4096}, {"other_kernel", 1, 1}});
  const std::string blank(64, ' ');
  CHECK(out.text() ==
        "\nprofile of copy\n"
        "\ncopy_kernel<4>, 2 launches\n"
        "               requests  lanes  each          asked → touched    │ step.cu\n" +
            blank + " │    2  __global__ void copy_kernel() {\n" +
            "load                 40   25.0  12.50 sectors  4.10 kB → 16.0 kB │    3    load();\n"
            "  ▲ 26 % of what is touched is asked for                         │\n"
            "shared store         10   32.0   1.00 passes   0 conflicts       │\n"
            "store                32   32.0   4.00 sectors  4.10 kB → 4.10 kB │    4    store();\n"
            "shared load          10   32.0   4.00 passes   30 conflicts      │\n"
            "  ▲ 1.0 passes would do without bank conflicts                   │\n"
            "  · 4 requests if nvcc merges them (see ./learn sass)            │\n"
            "barrier               6                                          │\n"
            "in all\n"
            "load                 40   25.0  12.50 sectors  4.10 kB → 16.0 kB\n"
            "store                32   32.0   4.00 sectors  4.10 kB → 4.10 kB\n"
            "shared load          10   32.0   4.00 passes   30 conflicts\n"
            "shared store         10   32.0   1.00 passes   0 conflicts\n"
            "barrier               6\n"
            "asked of global memory\n"
            "  loads: 4.00 kB expected, counted 4.10 kB (+2.4 %)\n"
            "  stores: 4.10 kB expected, counted 4.10 kB (+0.0 %)\n");
}

TEST_CASE("a profile of a kernel without a head in its file, of one launch, or of none",
          "[chapter]") {
  const Folder folder;
  const std::string path = folder / "tile.cuh";
  std::string lines;
  for (int line = 1; line <= 80; ++line) lines += "line " + std::to_string(line) + "\n";
  put(path, lines);
  // Barriers in these lines, of which the file may have fewer: it has changed since.
  const auto printed = [&](const char* name, const std::vector<int>& numbers) {
    KernelProfile kernel = {.kernel = name, .launches = 1};
    for (const int number : numbers) {
      kernel.lines.emplace_back();
      kernel.lines.back().path = path;
      kernel.lines.back().line = number;
      kernel.lines.back().counts.barriers = 1;
    }
    const Capture out(std::cout);
    print_profile("profile of tile", {kernel}, {{"tile_kernel", 0, 0}});
    return out.text();
  };
  const std::string text = printed("tile_kernel", {45, 78, 100});
  CHECK_THAT(text, ContainsSubstring("tile_kernel, 1 launch\n"));
  CHECK_THAT(text, ContainsSubstring("│   45  line 45\n") && ContainsSubstring("│   …\n") &&
                       ContainsSubstring("│   78  line 78\n") && ContainsSubstring("│  100  \n"));
  CHECK_THAT(text, !ContainsSubstring("line 60") && !ContainsSubstring("line 44"));
  CHECK_THAT(text, ContainsSubstring("loads: 0 B expected, counted 0 B\n"));
  CHECK_THAT(printed("other_kernel", {3}), ContainsSubstring("│    3  line 3\n") &&
                                               !ContainsSubstring("line 2\n") &&
                                               !ContainsSubstring("asked of global memory"));
  CHECK_THAT(printed("other_kernel", {90}), ContainsSubstring("│   90  \n"));
  const Capture out(std::cout);
  print_profile("profile of nothing", {}, {});
  CHECK_THAT(out.text(), ContainsSubstring("no kernel of ours ran"));
}

TEST_CASE("--profile-csv has a line for each kernel", "[chapter]") {
  CHECK(profile_csv_heads() ==
        "chapter,problem,step,kernel,launches,load_requests,load_sectors,store_requests,"
        "store_sectors,shared_load_requests,shared_load_passes,shared_load_conflicts,"
        "shared_store_requests,shared_store_passes,shared_store_conflicts\n");
  CHECK(profile_csv_lines("02", "M=1 N=2", "copy", {profile_of("step.cu"), {.kernel = "none"}}) ==
        "02,\"M=1 N=2\",\"copy\",\"copy_kernel<4>\",2,40,500,32,128,10,40,30,10,10,0\n"
        "02,\"M=1 N=2\",\"copy\",\"none\",0,0,0,0,0,0,0,0,0,0,0\n");
}
