// Files that appear under their name only when all of them is on the disk.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tutorial {

/// Writes beside `path` and renames, so that a failure leaves no partial file and an old file
/// stays. Throws Error when it cannot.
void write_file(const std::string& path, const std::string& text);
/// The same for several parts, one after the other.
void write_parts(const std::string& path, std::initializer_list<std::string_view> parts);

/// What an errno of open() or write() means for the user: what is the case; what to do.
std::string file_error_text(int error);

/// The lines of a file; none if it cannot be read.
std::vector<std::string> read_lines(const std::string& path);

/// Do two paths lead to one file? Neither need exist.
bool same_file(const std::string& one, const std::string& other);

/// Throws Error unless a file can be created at `path`. Creates nothing that stays.
void require_writable(const std::string& path);

}  // namespace tutorial
