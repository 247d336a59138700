// Were the logits right that a text was written by?
#pragma once

#include <iostream>
#include <vector>

#include "model/asked.hpp"
#include "model/model.hpp"

namespace tutorial::flash_attention::model {

/// A text, and the logits that each byte behind the prompt was chosen by.
struct Text {
  std::vector<Byte> bytes = {};
  std::vector<std::vector<float>> logits = {};
};

/// Says whether the logits are right, after the same bytes, and where the text was nearly another
/// one. Of many texts the first and the last are looked at.
bool judge(const Stored& stored, const AskedText& asked, const std::vector<Text>& texts,
           std::ostream& out = std::cout);

}  // namespace tutorial::flash_attention::model
