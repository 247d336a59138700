// translate IN.cu OUT.cpp: the build step that makes C++ of a .cu file (translate_source.hpp).
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "common/simulator/translate_source.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " IN.cu OUT.cpp\n";
    return 2;
  }
  const std::string in_path = std::filesystem::absolute(argv[1]).string();
  const std::string out_path = argv[2];
  try {
    std::ifstream in(in_path, std::ios::binary);
    if (!in) throw std::runtime_error(in_path + ": cannot be read");
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    const std::string result = simulator::translate_source(source, in_path);
    std::ofstream out(out_path, std::ios::binary);
    out << result << std::flush;
    if (!out) throw std::runtime_error(out_path + ": cannot be written");
  } catch (const std::exception& error) {
    std::remove(out_path.c_str());  // a later build must not take an old or cut file for the result
    std::cerr << error.what() << '\n';
    return 1;
  }
}
