// Translates a .cu file, and the headers beside it that need it, too. Of a C++ file of the host
// only what is not on the CPU backend is looked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/simulator/translate/translate_source.hpp"

namespace simulator {

struct TranslatedFile {
  std::string text;
  std::vector<std::filesystem::path> read;  // the file and the headers: a change of one counts
};

/// The C++ for the file at `path`. A header that it includes is looked for as a compiler does: with
/// quotes first in the folder of the file that includes it, then in `folders`. It is translated
/// into `copies` if it has a launch or shared memory in it or includes such a header; the #include
/// then names the copy. Throws TranslateError, or std::runtime_error for a file that cannot be read
/// or written.
TranslatedFile translate_file(const std::filesystem::path& path,
                              const std::filesystem::path& copies,
                              const std::vector<std::filesystem::path>& folders = {},
                              const Settings& settings = {});

}  // namespace simulator
