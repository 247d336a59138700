// The rooms of common/ (README.md): arrows between them go one way, and nothing knows a chapter.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kCommon = fs::path(TUTORIAL_SOURCE_DIR) / "common";

using Rooms = std::map<std::string, std::set<std::string>>;

/// Whose headers a room may include, beside its own.
const Rooms kMayUse = {
    {"kernel", {}},
    {"take", {"kernel"}},
    {"backend", {"kernel"}},
    {"simulator", {"backend", "kernel"}},
    {"data", {"kernel", "backend"}},
    {"compare", {"kernel", "data"}},
    {"measure", {"kernel", "backend", "data"}},
    {"program", {"kernel", "backend", "data", "compare", "measure"}},
    {"testing", {"kernel", "backend", "data", "compare", "measure", "program"}},
    {"browser", {"measure", "program", "testing", "simulator"}},
};

/// The same, of the simulator's rooms (simulator/README.md).
const Rooms kSimulatorMayUse = {
    {"include", {}},
    {"world", {}},
    {"translate", {}},
    {"device", {"world"}},
    {"count", {"world", "translate", "device"}},
    {"check", {"world", "device"}},
    {"units", {"world", "device", "count", "check"}},
    {"run", {"world", "device", "count", "check", "units"}},
    {"api", {"world", "device", "check", "run"}},
};

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("rooms: a room includes headers of those that it may use alone") {
  const std::regex include("^#include \"([^\"/]*)/([^\"/]*)");
  int seen = 0;
  for (const auto& [room, may_use] : kMayUse) {
    for (const auto& entry : fs::recursive_directory_iterator(kCommon / room)) {
      if (!entry.is_regular_file()) continue;
      const std::string file = fs::relative(entry.path(), kCommon).string();
      if (file.starts_with("simulator/")) continue;  // tests may use all, its rooms: below
      for (const std::string& line : lines_of(entry.path())) {
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

TEST_CASE("rooms: a room of the simulator includes headers of those that it may use alone") {
  const std::regex include("^#include \"common/(simulator/)?([^\"/]*)");
  int seen = 0;
  for (const auto& [room, may_use] : kSimulatorMayUse) {
    for (const auto& entry : fs::recursive_directory_iterator(kCommon / "simulator" / room)) {
      if (!entry.is_regular_file()) continue;
      for (const std::string& line : lines_of(entry.path())) {
        std::smatch found;
        if (!std::regex_search(line, found, include)) continue;
        ++seen;
        INFO("common/" << fs::relative(entry.path(), kCommon).string() << " has " << line);
        if (found[1].matched)
          CHECK((found[2] == room || may_use.contains(found[2])));
        else
          CHECK((found[2] == "backend" || found[2] == "kernel"));
      }
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("rooms: no folder of simulator, tools and tests has more than 20 files on one level") {
  for (const auto& entry : fs::recursive_directory_iterator(kCommon)) {
    const std::string room = *fs::relative(entry.path(), kCommon).begin();
    const bool is_ours = room == "simulator" || room == "tools" || room == "tests";
    if (!entry.is_directory() || !is_ours || entry.path().filename() == "__pycache__" ||
        entry.path().string().find("node_modules") != std::string::npos)
      continue;
    INFO(fs::relative(entry.path(), kCommon).string());
    const auto files = std::count_if(fs::directory_iterator(entry.path()), fs::directory_iterator(),
                                     [](const auto& file) { return file.is_regular_file(); });
    CHECK(files <= 20);
  }
}

TEST_CASE("rooms: every folder of common/ and of the simulator stands in its README") {
  for (const fs::path& folder : {kCommon, kCommon / "simulator"}) {
    std::string readme;
    for (const std::string& line : lines_of(folder / "README.md")) readme += line + "\n";
    for (const auto& entry : fs::directory_iterator(folder)) {
      INFO(entry.path().string());
      if (entry.is_directory())
        CHECK(readme.find("`" + entry.path().filename().string() + "/`") != std::string::npos);
    }
  }
}
