// Text that comes byte by byte, on a terminal.
#pragma once

#include <iostream>
#include <string>

#include "common/data/text.hpp"

namespace tutorial::flash_attention::model {

/// Shows each character as soon as all its bytes (UTF-8) are there; \x1b and the like in place of
/// what a terminal would obey or could not show.
class TextScreen {
 public:
  explicit TextScreen(std::ostream& out = std::cout) : out_(out) {}
  ~TextScreen() { flush(); }
  void put(unsigned char byte) {
    const bool goes_on = (byte & 0xc0) == 0x80;
    if (!goes_on || pending_.size() == 4) flush();
    pending_ += static_cast<char>(byte);
    if (byte < 0x80) flush();
  }
  void flush() {
    out_ << (pending_ == "\n" ? pending_ : printable(pending_)) << std::flush;
    pending_.clear();
  }

 private:
  std::ostream& out_;
  std::string pending_;
};

}  // namespace tutorial::flash_attention::model
