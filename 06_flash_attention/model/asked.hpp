// What the program was asked for.
#pragma once

#include <string>

#include "model/model.hpp"

namespace tutorial::flash_attention::model {

struct AskedText {
  std::string prompt = {}, folder = {};
  int64_t tokens = 0, texts = 1;
  bool cached = true;
  double temperature = 0;  // 0: always the best byte
  uint64_t seed = 1;
  Choice choice = {};
};

/// Reads the command line. Throws Finished after --help and --list, and Error for what it does not
/// understand.
AskedText read_asked(int argc, char** argv);
/// Throws Error where the text would be longer than the model reads.
void require_room(const AskedText& asked, const Sizes& sizes);
/// The model and the kernels, in a line.
std::string described(const AskedText& asked, const Stored& stored);

}  // namespace tutorial::flash_attention::model
