// A file appears under its name only when all of it is on the disk.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/data/files.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error("cannot write " + path + ": " + reason);
}

/// The new content, under a name of its own until keep(). Removed unless kept.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (path.empty()) fail("''", "the name is empty; give one");
    if (fs::is_directory(status) || path.ends_with('/')) fail(path, file_error_text(EISDIR));
    // /dev/stdout may lead to a file that is being written. A rename would replace /dev/null
    // itself.
    if (path.starts_with("/dev/") || path.starts_with("/proc/") ||
        (fs::exists(status) && !fs::is_regular_file(status)))
      fail(path, "it is no ordinary file; give the path of one");
    // A link stays a link, and what it points to is replaced.
    std::error_code error;
    target_ = fs::is_symlink(fs::symlink_status(path, ignored))
                  ? fs::weakly_canonical(path, error).string()
                  : path;
    if (error) fail(path, file_error_text(error.value()));
    part_ = target_ + ".part" + std::to_string(getpid());
    descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail_with_errno();
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
  [[noreturn]] void fail_with_errno() { fail(path_, file_error_text(errno)); }

  std::string path_, target_, part_;
  int descriptor_ = -1;
  bool kept_ = false;
};

}  // namespace

std::string file_error_text(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "there is no such file or directory; check the path";
    case EISDIR:
      return "it is a directory; give the path of a file";
    case EACCES:
    case EPERM:
      return "you have no permission; give a path that you may use, or change its permissions";
    case EROFS:
      return "its file system is read-only; give a path on another";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full, or your share of it; make room, or give a path on another disk";
    case EFBIG:
      return "the file would be larger than is allowed here; see ulimit -f, or give a path on "
             "another disk";
    case ENAMETOOLONG:
      return "the name is too long; give a shorter one";
    case ELOOP:
      return "its symbolic links lead around in a circle; give another path";
    default:
      return std::string(std::strerror(error)) + "; try another path";
  }
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  const auto resolved = [&](const std::string& path) {
    const fs::path whole = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    return whole.empty() ? fs::path(path) : whole;
  };
  return resolved(one) == resolved(other);
}

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
