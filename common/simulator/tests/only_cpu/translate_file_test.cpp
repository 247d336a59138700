// Headers beside a .cu file: which are translated, and what the file then includes.
#include "common/simulator/translate/translate_file.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <stdexcept>

using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

/// A folder that is gone at the end.
struct Folder {
  const fs::path path =
      fs::canonical(fs::temp_directory_path()) / ("translate_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path / "sub"); }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  simulator::TranslatedFile translate(const std::vector<fs::path>& folders = {}) const {
    return simulator::translate_file(path / "main.cu", path / "copies", folders);
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The file that the line `#include "…"` of the text names, whose name ends so.
fs::path included(const std::string& text, const std::string& ending) {
  const size_t end = text.find(ending + "\"");
  REQUIRE(end != text.npos);
  const size_t begin = text.rfind('"', end) + 1;
  return text.substr(begin, end + ending.size() - begin);
}

const std::string kKernel = "inline void go() { k<<<1, 2>>>(); }\n";

}  // namespace

TEST_CASE("headers: one with a launch is translated, others stay", "[translate]") {
  const Folder folder;
  folder.write("main.cu",
               "#include \"launches.h\"\n#include \"plain.h\"\n#include \"gone.h\"\n"
               "#include <launches.h>\nint x;\n");
  folder.write("launches.h", "#pragma once\n" + kKernel);
  folder.write("plain.h", "int y;\n");
  const auto result = folder.translate();
  const fs::path copy = included(result.text, "launches.h");
  CHECK(copy.parent_path() == folder.path / "copies");
  CHECK_THAT(text_of(copy),
             ContainsSubstring("#line 1 \"" + (folder.path / "launches.h").string()));
  CHECK_THAT(text_of(copy), ContainsSubstring("simulator::launch_site(\"k\""));
  CHECK(included(result.text, "plain.h") == folder.path / "plain.h");
  CHECK_THAT(result.text,
             ContainsSubstring("#include \"gone.h\"\n#include <launches.h>\nint x;\n"));
  CHECK(result.read == std::vector<fs::path>{folder.path / "launches.h", folder.path / "main.cu",
                                             folder.path / "plain.h"});
}

TEST_CASE("headers: what includes a translated one is translated, too", "[translate]") {
  const Folder folder;
  folder.write("main.cu", "#include \"sub/outer.h\"\n");
  folder.write("sub/outer.h", "#include \"middle.h\"\n#include \"../plain.h\"\nint a;\n");
  folder.write("sub/middle.h", "#include \"../inner.cuh\"\n");
  folder.write("inner.cuh", "#include \"sub/outer.h\"\n" + kKernel);  // in a circle
  folder.write("plain.h", "int y;\n");
  const auto result = folder.translate();
  const std::string outer = text_of(included(result.text, "outer.h"));
  const std::string middle = text_of(included(outer, "middle.h"));
  const std::string inner = text_of(included(middle, "inner.cuh"));
  CHECK_THAT(inner, ContainsSubstring("launch_site"));
  CHECK(included(outer, "plain.h") == folder.path / "plain.h");
  CHECK(included(inner, "outer.h") == included(result.text, "outer.h"));
  CHECK(result.read.size() == 5);
}

TEST_CASE("headers: those in a folder of -I are found in the order that a compiler has",
          "[translate]") {
  const Folder folder;
  fs::create_directories(folder.path / "far");
  folder.write("main.cu", "#include <launches.h>\n#include \"both.h\"\n#include <both.h>\n");
  folder.write("both.h", "int beside;\n" + kKernel);
  folder.write("sub/both.h", "int in_sub;\n" + kKernel);
  folder.write("far/both.h", "int in_far;\n" + kKernel);
  folder.write("far/launches.h", kKernel);
  const auto result = folder.translate({folder.path / "sub", folder.path / "far"});
  CHECK_THAT(text_of(included(result.text, "launches.h")), ContainsSubstring("launch_site(\"k\""));
  CHECK_THAT(text_of(included(result.text, "both.h")), ContainsSubstring("int beside"));
  const size_t last = result.text.rfind("#include ");
  CHECK_THAT(text_of(included(result.text.substr(last), "both.h")),
             ContainsSubstring("int in_sub"));
  CHECK(result.read.size() == 4);  // far/both.h is hidden
}

TEST_CASE("headers: a mistake in one is told with its name", "[translate]") {
  const Folder folder;
  folder.write("main.cu", "#include \"wrong.h\"\n");
  folder.write("wrong.h", "\n\nk<<<1, 2>>;\n");
  CHECK_THROWS_WITH(folder.translate(),
                    ContainsSubstring((folder.path / "wrong.h").string() + ":3: this <<<"));
  folder.write("main.cu", "int x;\n");
  CHECK(folder.translate().text ==
        "#line 1 \"" + (folder.path / "main.cu").string() + "\"\nint x;\n");
}
