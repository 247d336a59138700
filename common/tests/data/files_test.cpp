// Files that are written whole or not at all, and what is said where they cannot be.
#include "common/data/files.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "common/kernel/error.hpp"
#include "common/testing/folder.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("what keeps a file from being written is said as it is") {
  const Folder folder;
  const auto refusal_of = [](const std::string& path) -> std::string {
    try {
      require_writable(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal_of(folder / "none/x") ==
        "cannot write " + (folder / "none/x") +
            ": there is no such file or directory; check the path");
  CHECK_THAT(refusal_of(folder / ""),
             ContainsSubstring("it is a directory; give the path of a file"));
  CHECK_THAT(refusal_of("/sys/x"),
             ContainsSubstring("no permission") || ContainsSubstring("read-only"));
  CHECK_THAT(refusal_of(folder / std::string(300, 'x')), ContainsSubstring("the name is too long"));
  fs::create_symlink("round", folder / "round");
  CHECK_THAT(refusal_of(folder / "round/x"), ContainsSubstring("around in a circle"));
  CHECK_THAT(refusal_of(folder / "round"), ContainsSubstring("around in a circle"));
  CHECK_THAT(refusal_of(folder / "none/"), ContainsSubstring("it is a directory"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(refusal_of(folder / "pipe"), ContainsSubstring("it is no ordinary file"));
  // These need a disk, or another user.
  CHECK_THAT(file_error_text(ENOSPC), ContainsSubstring("the disk is full"));
  CHECK_THAT(file_error_text(EROFS), ContainsSubstring("is read-only"));
  CHECK_THAT(file_error_text(EACCES), ContainsSubstring("you have no permission"));
  CHECK_THAT(file_error_text(EIO), ContainsSubstring("nput/output error; try another path"));
}

TEST_CASE("a file's lines are read, the last with or without an end; a missing file has none") {
  const Folder folder;
  write_file(folder / "lines", "one\n\nthree");
  CHECK(read_lines(folder / "lines") == std::vector<std::string>{"one", "", "three"});
  CHECK(read_lines(folder / "missing").empty());
}

TEST_CASE("two paths may lead to one file") {
  const Folder folder;
  fs::create_directory_symlink(".", folder / "here");
  CHECK(same_file(folder / "x", folder / "./x"));
  CHECK(same_file(folder / "x", folder / "here/x"));
  CHECK(same_file("x", "../" + fs::current_path().filename().string() + "/x"));
  CHECK(!same_file(folder / "x", folder / "y"));
  put(folder / "x", "");
  fs::create_symlink("x", folder / "link");
  CHECK(same_file(folder / "x", folder / "link"));
  fs::create_symlink("round", folder / "round");
  CHECK(!same_file(folder / "round/x", folder / "round/y"));
}

TEST_CASE("a path that cannot be written is refused, and nothing is left behind") {
  const Folder folder;
  const Tensor tensor{{2}, {1, 2}};
  fs::create_directory(folder / "d");
  for (const std::string& path : {folder / "none/x.npy", folder / "d", std::string("/dev/null"),
                                  std::string("/proc/x.npy"), std::string()}) {
    INFO(path);
    CHECK_THROWS_WITH(write_npy(path, tensor), ContainsSubstring("cannot write "));
    CHECK_THROWS_WITH(require_writable(path), ContainsSubstring("cannot write "));
  }
  CHECK(folder.files() == 1);
  CHECK(fs::is_character_file("/dev/null"));

  require_writable(folder / "x.npy");
  CHECK(folder.files() == 1);
}

TEST_CASE("a new file replaces the old one, also through a link") {
  const Folder folder;
  write_file(folder / "old", "old text");
  fs::create_symlink("old", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(contents(folder / "old") == "new");

  require_writable(folder / "old");
  CHECK(contents(folder / "old") == "new");
  CHECK(folder.files() == 2);

  // As for every other program, the mode follows the umask.
  const mode_t mask = umask(022);
  write_file(folder / "mode", "");
  umask(mask);
  CHECK(static_cast<int>(fs::status(folder / "mode").permissions()) == 0644);
}

TEST_CASE("a write that fails half-way keeps the old file") {
  const Folder folder;
  write_file(folder / "x.npy", "old");
  // In place of a full disk: no file of this process may pass 1000 bytes.
  rlimit usual;
  getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = usual.rlim_max};
  const auto usual_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string text;
  try {
    write_npy(folder / "x.npy", {{1000}, std::vector<float>(1000)});
  } catch (const Error& error) {
    text = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, usual_handler);
  CHECK_THAT(text, ContainsSubstring("cannot write " + (folder / "x.npy")));
  CHECK(contents(folder / "x.npy") == "old");
  CHECK(folder.files() == 1);
}
