// translate IN.cu OUT.cpp [FOLDER | --set=NAME=VALUE]…: the build step that makes C++ of a .cu file
// (translate_source.hpp). Beside OUT.cpp it leaves OUT.cpp.d, which tells a build tool the files
// that were read, and in OUT.cpp.headers the headers that were translated. The folders are those of
// -I.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "common/simulator/translate/translate_file.hpp"

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

/// A path as a makefile has it.
std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) out += c == ' ' || c == '#' ? std::string{'\\', c} : std::string{c};
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " IN.cu OUT.cpp [FOLDER | --set=NAME=VALUE]…\n";
    return 2;
  }
  const std::string out_path = argv[2];
  try {
    const auto path = std::filesystem::absolute(argv[1]).lexically_normal();
    std::vector<std::filesystem::path> folders;
    simulator::Settings settings;
    for (const std::string& word : std::vector<std::string>(argv + 3, argv + argc)) {
      const size_t name = word.starts_with("--set=") ? 6 : 0, equals = word.find('=', name);
      if (name == 0)
        folders.push_back(word);
      else
        settings[word.substr(name, equals - name)] = word.substr(equals + 1);
    }
    const auto result = simulator::translate_file(path, out_path + ".headers", folders, settings);
    std::string dependencies = escaped(out_path) + ":";
    for (const auto& file : result.read) dependencies += " " + escaped(file.string());
    write(out_path + ".d", dependencies + "\n");
    write(out_path, result.text);
  } catch (const std::exception& error) {
    std::remove(out_path.c_str());  // a later build must not take an old or cut file for the result
    std::cerr << error.what() << '\n';
    return 1;
  }
}
