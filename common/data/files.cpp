// A file appears under its name only when all of it is on the disk.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/data/files.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error("cannot write " + path + ": " + reason +
              "; give a path in a directory that exists and that you may write to");
}

/// The new content, under a name of its own until keep(). Removed unless kept.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (path.empty()) fail("''", "the name is empty");
    if (fs::is_directory(status)) fail(path, "it is a directory");
    // /dev/stdout may lead to a file that is being written.
    if (path.starts_with("/dev/") || path.starts_with("/proc/"))
      fail(path, "it is no ordinary file");
    // A rename would replace /dev/null itself.
    if (fs::exists(status) && !fs::is_regular_file(status)) fail(path, "it is no ordinary file");
    // A link stays a link, and what it points to is replaced.
    const fs::path target = fs::is_symlink(fs::symlink_status(path, ignored))
                                ? fs::weakly_canonical(path, ignored)
                                : fs::path(path);
    target_ = target.empty() ? path : target.string();
    part_ = target_ + ".part" + std::to_string(getpid());
    descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(path_, std::strerror(errno));
  }
  ~NewFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!kept_) unlink(part_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_with_errno();
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  void keep() {
    if (fsync(descriptor_) != 0) fail_with_errno();
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (close(descriptor) != 0) fail_with_errno();
    if (std::rename(part_.c_str(), target_.c_str()) != 0) fail_with_errno();
    kept_ = true;
  }

 private:
  [[noreturn]] void fail_with_errno() { fail(path_, std::strerror(errno)); }

  std::string path_, target_, part_;
  int descriptor_ = -1;
  bool kept_ = false;
};

}  // namespace

void write_parts(const std::string& path, std::initializer_list<std::string_view> parts) {
  NewFile file(path);
  for (std::string_view part : parts) file.write(part);
  file.keep();
}

void write_file(const std::string& path, const std::string& text) {
  write_parts(path, {text});
}

void require_writable(const std::string& path) {
  NewFile file(path);
}

}  // namespace tutorial
