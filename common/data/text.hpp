// Numbers and words as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutorial {

/// "17.2 GFLOP", "201 MB", "3.00 TB/s": three significant digits and a unit prefix.
std::string with_prefix(double value, const char* unit);
/// 4096, 3.48 M
std::string count_text(int64_t count);
/// 2950, 29.5, 2.95: three digits that matter, without an exponent.
std::string three_digits(double value);
/// `value` as printf writes it with this format, of one number.
std::string formatted(const char* format, double value);
/// "a, b, c"
std::string join(const std::vector<std::string>& words);
/// "--m" -> "m"
std::string without_dashes(const std::string& option);
/// `did you mean "tiled"? ` where one of the known words is much like this one, else "": to go
/// before the words of a message that say which there are.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);
/// The text with \x1b and the like in place of what a terminal would obey or could not show.
std::string printable(const std::string& text);

/// Columns that a text (UTF-8) takes on the screen.
size_t screen_width(const std::string& text);

}  // namespace tutorial
