// Files of a test, in a folder that goes with it.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/data/npy.hpp"

namespace tutorial {

/// An empty folder of its own, gone at the end of the test.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "a test.XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  std::string operator/(const std::string& file) const { return (path / file).string(); }
  /// Writes a tensor of this shape; gives its path.
  std::string tensor(const std::string& file, const std::vector<int64_t>& shape) const {
    write_npy(*this / file,
              {shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 0.25f)});
    return *this / file;
  }
  size_t files() const {
    namespace fs = std::filesystem;
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
  }
  bool is_empty() const { return files() == 0; }
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace tutorial
