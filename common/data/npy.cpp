#include "common/data/npy.hpp"

#include <bit>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "common/data/files.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// How to make a file that can be read.
std::string remedy(const std::string& path) {
  return "; save it with np.save('" + path + "', np.ascontiguousarray(x, dtype=np.float32))";
}

/// `found` may hold bytes of the file.
[[noreturn]] void refuse(const std::string& path, const std::string& found) {
  throw Error(printable(path + " " + found + remedy(path)));
}

/// Reads the header's text, a Python dictionary:
///   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  Header parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (peek() == '[') refuse(path_, "holds records of several fields, not float32 ('<f4')");
        header.descr = string();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = tuple();
      } else {
        malformed("the key '" + key + "' is unknown or comes twice");
      }
      if (!accept(',') && peek() != '}') malformed("a comma is missing");
    }
    if (!at_end()) malformed("something follows the closing brace");
    if (!has_descr || !has_order || !has_shape)
      malformed("one of 'descr', 'fortran_order' and 'shape' is missing");
    return header;
  }

 private:
  [[noreturn]] void malformed(const std::string& reason) {
    refuse(path_, "has a damaged header: " + reason);
  }
  bool at_end() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
    return rest_.empty();
  }
  /// The next character that is no blank; at the end, as for a NUL byte, '\0', which nothing takes.
  char peek() { return at_end() ? '\0' : rest_[0]; }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed(std::string("'") + wanted + "' is missing");
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a quoted word is missing");
    const size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) malformed("a quote is not closed");
    const std::string word(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return word;
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    malformed("'fortran_order' is neither True nor False");
  }
  int64_t integer() {
    if (!std::isdigit(static_cast<unsigned char>(peek())))
      malformed("'shape' is not a tuple of whole numbers");
    if (rest_.size() > 1 && rest_[0] == '0' && std::isdigit(static_cast<unsigned char>(rest_[1])))
      malformed("a number in 'shape' begins with 0");
    int64_t value = 0;
    while (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_[0]))) {
      if (value > std::numeric_limits<int64_t>::max() / 10 - 1) malformed("an extent is too large");
      value = 10 * value + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  /// "()", "(3,)", "(2, 3)", "(2, 3,)". Not "(3)", which is no tuple in Python.
  std::vector<int64_t> tuple() {
    std::vector<int64_t> items;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) malformed("a comma is missing");
      items.push_back(integer());
      comma = accept(',');
    }
    if (items.size() == 1 && !comma) malformed("'shape' is not a tuple");
    return items;
  }

  std::string_view rest_;
  const std::string& path_;
};

/// "<f8" -> "float64 ('<f8')": NumPy's own name for the commonest types.
std::string type_name(const std::string& descr) {
  const std::string quoted = "'" + descr + "'";
  if (descr.size() < 3) return quoted;
  const char order = descr[0], kind = descr[1];
  const int bytes = std::isdigit(static_cast<unsigned char>(descr[2])) ? descr[2] - '0' : 0;
  const char* word = kind == 'f'   ? "float"
                     : kind == 'i' ? "int"
                     : kind == 'u' ? "uint"
                     : kind == 'b' ? "bool"
                                   : "";
  if (*word == '\0' || bytes == 0 || descr.size() > 3) return quoted;
  const std::string bits = kind == 'b' ? "" : std::to_string(8 * bytes);
  return (order == '>' ? "big-endian " : "") + std::string(word) + bits + " (" + quoted + ")";
}

/// `count` bytes as an unsigned number, the lowest first.
size_t little_endian(const char* bytes, size_t count) {
  size_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Tensor read_npy(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error("cannot read " + path + ": it is a directory or a device; name a .npy file");
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error("cannot read " + path + ": " + file_error_text(errno));
  size_t left = static_cast<size_t>(file.tellg());
  file.seekg(0);
  // Every read is of bytes that the file has, so a header cannot ask for more memory than that.
  const auto take = [&](char* to, size_t bytes, const char* what) {
    if (bytes > left) refuse(path, std::string("is cut short in ") + what);
    file.read(to, static_cast<std::streamsize>(bytes));
    if (!file) throw Error("cannot read " + path + ": reading failed half-way; try again");
    left -= bytes;
  };

  char start[8] = {};  // the magic word, then the version
  if (left < sizeof start) refuse(path, "is no .npy file: it has fewer than 8 bytes");
  take(start, sizeof start, "its first bytes");
  if (std::string_view(start, 4) == "PK\x03\x04")
    throw Error(path +
                " is a zip of .npy files, as np.savez writes it; unpack it first, in Python: " +
                "np.save('x.npy', np.load('" + path + "')['NAME'])");
  if (std::string_view(start, kMagic.size()) != kMagic)
    refuse(path, "is no .npy file: it does not begin with \\x93NUMPY");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if ((major != 1 && major != 2) || minor != 0)
    refuse(path, "has format version " + std::to_string(major) + "." + std::to_string(minor) +
                     ", not 1.0 or 2.0");

  char length[4] = {};
  const size_t length_bytes = major == 1 ? 2 : 4;
  take(length, length_bytes, "its header");
  const size_t header_bytes = little_endian(length, length_bytes);
  if (header_bytes > left) refuse(path, "is cut short in its header");
  std::string text(header_bytes, '\0');
  take(text.data(), header_bytes, "its header");

  const Header header = HeaderParser(text, path).parse();
  if (header.descr != "<f4")
    refuse(path, "holds " + type_name(header.descr) + ", not float32 ('<f4')");
  if (header.fortran_order) refuse(path, "is in Fortran order (column-major), not C order");

  int64_t count = 0;
  try {
    count = element_count(header.shape);
  } catch (const Error&) {
    refuse(path, "has a damaged header: a shape of " + shape_text(header.shape) + " is too large");
  }
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);  // at most 2^62
  const std::string both = "shape " + shape_text(header.shape) + " needs " + std::to_string(bytes) +
                           " bytes of data and the file has " + std::to_string(left);
  if (bytes > left) refuse(path, "is cut short: its " + both);
  if (bytes < left) refuse(path, "is too long: its " + both);

  Tensor tensor{header.shape, std::vector<float>(static_cast<size_t>(count))};
  take(reinterpret_cast<char*>(tensor.values.data()), bytes, "its data");
  return tensor;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  std::string shape;
  for (int64_t extent : tensor.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  if (tensor.shape.size() == 1) shape += ",";
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Spaces and a newline bring the data to a multiple of 64 bytes.
  const size_t before = kMagic.size() + 2 + 2;  // magic, version, length
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';

  std::string start(kMagic);
  start += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  const std::string_view data(reinterpret_cast<const char*>(tensor.values.data()),
                              tensor.values.size() * sizeof(float));
  write_parts(path, {start, text, data});
}

}  // namespace tutorial
