#include "common/simulator/translate/translate_file.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include "common/simulator/translate/translate_source.hpp"

namespace simulator {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

class Files {
 public:
  Files(const fs::path& copies, const std::vector<fs::path>& folders, const Settings& settings,
        Side side)
      : copies_(copies), folders_(folders), settings_(settings), side_(side) {}

  TranslatedFile translate(const fs::path& path) {
    look_at(path);
    // A header that includes one with a copy gets a copy, and so on.
    for (bool found = true; found;) {
      found = false;
      for (auto& [name, file] : files_)
        for (const fs::path& included : file.includes)
          if (!file.has_copy && files_.at(included).has_copy) found = file.has_copy = true;
    }
    TranslatedFile result;
    for (const auto& [name, file] : files_) {
      result.read.push_back(name);
      if (name != path && file.has_copy) write_copy(name, file);
    }
    result.text = text_with_copies(path, files_.at(path));
    return result;
  }

 private:
  struct File {
    std::string source;
    std::set<fs::path> includes;
    bool has_copy = false;
    size_t number = 0;  // in the name of its copy
  };

  fs::path find(const fs::path& from, const std::string& name, bool is_quoted) const {
    std::vector<fs::path> folders = folders_;
    if (is_quoted) folders.insert(folders.begin(), from.parent_path());
    std::error_code error;
    for (const fs::path& folder : folders) {
      const fs::path found = fs::weakly_canonical(folder / name, error);
      if (!error && fs::is_regular_file(found, error)) return found;
    }
    return {};
  }

  void look_at(const fs::path& path) {
    const auto [entry, is_new] = files_.try_emplace(path);
    if (!is_new) return;
    File& file = entry->second;
    file.number = files_.size();
    file.source = read_file(path);
    const auto look = [&](const std::string& name, bool quoted) {
      const fs::path found = find(path, name, quoted);
      if (!found.empty()) file.includes.insert(found);
      return "";
    };
    const std::string text = translate_source(file.source, path.string(), look, settings_, side_);
    file.has_copy = text.substr(text.find('\n') + 1) != file.source;
    for (const fs::path& included : file.includes) look_at(included);
  }

  fs::path copy_of(const fs::path& path, const File& file) const {
    return copies_ / (std::to_string(file.number) + "_" + path.filename().string());
  }

  /// An #include of a header without a copy gets its whole path: a copy stands elsewhere.
  std::string text_with_copies(const fs::path& path, const File& file) const {
    const auto copy = [&](const std::string& name, bool quoted) {
      const fs::path found = find(path, name, quoted);
      if (found.empty()) return found.string();
      const File& included = files_.at(found);
      return (included.has_copy ? copy_of(found, included) : found).string();
    };
    return translate_source(file.source, path.string(), copy, settings_, side_);
  }

  void write_copy(const fs::path& path, const File& file) const {
    fs::create_directories(copies_);
    const fs::path copy = copy_of(path, file);
    std::ofstream out(copy, std::ios::binary);
    out << text_with_copies(path, file) << std::flush;
    if (!out) throw std::runtime_error(copy.string() + ": cannot be written");
  }

  const fs::path copies_;
  const std::vector<fs::path> folders_;
  const Settings settings_;
  const Side side_;
  std::map<fs::path, File> files_;
};

}  // namespace

TranslatedFile translate_file(const fs::path& path, const fs::path& copies,
                              const std::vector<fs::path>& folders, const Settings& settings) {
  const Side side = path.extension() == ".cu" ? Side::device : Side::host;
  return Files(copies, folders, settings, side).translate(path);
}

}  // namespace simulator
