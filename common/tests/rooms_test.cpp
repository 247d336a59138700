// The rooms of common/ (README.md): arrows between them go one way, and nothing knows a chapter.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path kCommon = fs::path(TUTORIAL_SOURCE_DIR) / "common";

/// Whose headers a room may include, beside its own.
const std::map<std::string, std::set<std::string>> kMayUse = {
    {"kernel", {}},
    {"backend", {"kernel"}},
    {"simulator", {"backend"}},
    {"data", {"kernel", "backend"}},
    {"compare", {"kernel", "data"}},
    {"measure", {"kernel", "backend", "data"}},
    {"program", {"kernel", "backend", "data", "compare", "measure"}},
    {"testing", {"kernel", "backend", "data", "compare", "measure", "program"}},
};

}  // namespace

TEST_CASE("rooms: a room includes headers of those that it may use alone") {
  const std::regex include("^#include \"([^\"/]*)/([^\"/]*)");
  int seen = 0;
  for (const auto& [room, may_use] : kMayUse) {
    for (const auto& entry : fs::recursive_directory_iterator(kCommon / room)) {
      if (!entry.is_regular_file()) continue;
      const std::string file = fs::relative(entry.path(), kCommon).string();
      if (file.starts_with("simulator/tests/")) continue;  // tests may use all
      std::ifstream source(entry.path());
      for (std::string line; std::getline(source, line);) {
        std::smatch found;
        if (!std::regex_search(line, found, include)) continue;
        ++seen;
        INFO("common/" << file << " has " << line);
        CHECK(found[1] == "common");
        CHECK((found[2] == room || may_use.contains(found[2])));
      }
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("rooms: every folder of common/ stands in its README") {
  std::ifstream file(kCommon / "README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  for (const auto& entry : fs::directory_iterator(kCommon))
    if (entry.is_directory())
      CHECK(readme.find("`" + entry.path().filename().string() + "/`") != std::string::npos);
}
