// Words as people read them: what is much like a misspelt one, and what no terminal may get.
#include "common/data/text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace tutorial;

TEST_CASE("a misspelt word is told what it is like") {
  const std::vector<std::string> steps = {"shared_tile", "register_tile", "tile_by_size",
                                          "q_outer"};
  CHECK(did_you_mean("shraed_tile", steps) == "did you mean \"shared_tile\"? ");
  CHECK(did_you_mean("registertile", steps) == "did you mean \"register_tile\"? ");
  CHECK(did_you_mean("outer", steps) == "did you mean \"q_outer\"? ");     // a part of it
  CHECK(did_you_mean("tile", steps) == "did you mean \"shared_tile\"? ");  // the first of several
  CHECK(did_you_mean("cuBLAS", steps) == "");
  CHECK(did_you_mean("", steps) == "");
  CHECK(did_you_mean(std::string(1 << 20, 'x'), steps) == "");
  const std::vector<std::string> options = {"--m", "--n", "--seed", "--help", "-h"};
  CHECK(did_you_mean("--sede", options) == "did you mean \"--seed\"? ");
  CHECK(did_you_mean("-seed", options) == "did you mean \"--seed\"? ");
  CHECK(did_you_mean("-n", options) == "did you mean \"--n\"? ");
  CHECK(did_you_mean("--x", options) == "");  // as far from each of them
}

TEST_CASE("words of a file or a user are printed without what a terminal would obey") {
  CHECK(printable("M×N ≤ 2⁶⁰, \"quoted\" \\ 𝄞") == "M×N ≤ 2⁶⁰, \"quoted\" \\ 𝄞");
  CHECK(printable("\x1b[31m\n\t\x7f") == "\\x1b[31m\\x0a\\x09\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xff\xe2\x82") == "\\xff\\xe2\\x82");  // no UTF-8; cut short
  CHECK(printable("\xc2\x9b[31m") == "\\xc2\\x9b[31m");   // U+009B, as ESC [
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // a longer form of U+001B
}
