// .npy files: those that NumPy writes are read, what cannot be read is refused in one sentence.
#include "common/data/npy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "common/kernel/error.hpp"
#include "common/testing/folder.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A file's bytes: version `major`, this header text, then `data` floats 1, 2, 3, …
std::string npy(const std::string& header, int data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(major), '\0'};
  const size_t length_bytes = major == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header;
  for (int i = 1; i <= data; ++i) {
    const float value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

std::string dictionary(const std::string& shape, const std::string& descr = "'<f4'",
                       const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }   \n";
}

/// The sentence with which a file of these bytes is refused; "" if it is not.
std::string refusal(const std::string& bytes) {
  const Folder folder;
  put(folder / "x.npy", bytes);
  try {
    read_npy(folder / "x.npy");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK_THAT(text, ContainsSubstring(folder / "x.npy"));
    CHECK(text.find('\n') == text.npos);
    return text;
  }
  return "";
}

}  // namespace

TEST_CASE("a file that NumPy wrote is read") {
  // np.save("x.npy", np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)), NumPy 1.26, byte by byte.
  std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
  bytes += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  bytes += std::string(58, ' ') + "\n";
  REQUIRE(bytes.size() == 128);
  bytes += std::string(
      "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00\xc0"
      "\x40",
      24);
  const Folder folder;
  put(folder / "x.npy", bytes);
  const Tensor tensor = read_npy(folder / "x.npy");
  CHECK(tensor.shape == std::vector<int64_t>{2, 3});
  CHECK(tensor.values == std::vector<float>{1, 2, 3, 4, 5, 6});

  // And what we write is the same, byte by byte.
  write_npy(folder / "y.npy", tensor);
  CHECK(contents(folder / "y.npy") == bytes);
}

TEST_CASE("versions, shapes and ways to write the header") {
  const Folder folder;
  const auto shape_of = [&](const std::string& header, int data, int major = 1) {
    put(folder / "x.npy", npy(header, data, major));
    return read_npy(folder / "x.npy").shape;
  };
  using Shape = std::vector<int64_t>;
  CHECK(shape_of(dictionary("(2, 3)"), 6, 2) == Shape{2, 3});
  CHECK(shape_of(dictionary("()"), 1) == Shape{});
  CHECK(shape_of(dictionary("(4,)"), 4) == Shape{4});
  CHECK(shape_of(dictionary("(2, 2, 2, )"), 8) == Shape{2, 2, 2});
  CHECK(shape_of(dictionary("(0, 1152921504606846976, 8)"), 0) == Shape{0, int64_t{1} << 60, 8});
  CHECK(shape_of("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}", 2) == Shape{2});
}

TEST_CASE("what is written is read again") {
  const Folder folder;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {5}, {2, 3, 4}, {3, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6}}) {
    Tensor tensor{shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 1.5f)};
    write_npy(folder / "x.npy", tensor);
    const std::string bytes = contents(folder / "x.npy");
    CHECK((bytes.size() - tensor.values.size() * sizeof(float)) % 64 == 0);
    const Tensor again = read_npy(folder / "x.npy");
    CHECK(again.shape == shape);
    CHECK(again.values == tensor.values);
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("other types and orders are refused") {
  CHECK_THAT(
      refusal(npy(dictionary("(2,)", "'<f8'"), 4)),
      ContainsSubstring("holds float64 ('<f8'), not float32 ('<f4'); save it with np.save("));
  CHECK_THAT(refusal(npy(dictionary("(2,)", "'>f4'"), 2)), ContainsSubstring("big-endian float32"));
  CHECK_THAT(refusal(npy(dictionary("(2,)", "'<f2'"), 1)), ContainsSubstring("float16"));
  CHECK_THAT(refusal(npy(dictionary("(2,)", "'<i8'"), 4)), ContainsSubstring("int64"));
  CHECK_THAT(refusal(npy(dictionary("(4,)", "'|b1'"), 1)), ContainsSubstring("holds bool ('|b1')"));
  CHECK_THAT(refusal(npy(dictionary("(4,)", "'<U12'"), 12)), ContainsSubstring("holds '<U12'"));
  CHECK_THAT(refusal(npy(dictionary("(2,)", "'<u4'"), 2)), ContainsSubstring("holds uint32"));
  for (const std::string unknown : {"'<f'", "'<f0'"})
    CHECK_THAT(refusal(npy(dictionary("(2,)", unknown), 2)),
               ContainsSubstring("holds " + unknown + ", not"));
  CHECK_THAT(refusal(npy(dictionary("(2,)", "[('a', '<f4')]"), 2)),
             ContainsSubstring("records of several fields"));
  CHECK_THAT(refusal(npy(dictionary("(2, 3)", "'<f4'", "True"), 6)),
             ContainsSubstring("Fortran order"));
}

TEST_CASE("a file that is no .npy file is refused") {
  CHECK_THAT(refusal(""), ContainsSubstring("no .npy file"));
  CHECK_THAT(refusal("\x93NUMPY"), ContainsSubstring("no .npy file"));
  CHECK_THAT(refusal("PK this is no zip"), ContainsSubstring("no .npy file"));
  const std::string zip = refusal("PK\x03\x04 this is a zip");
  CHECK_THAT(zip,
             ContainsSubstring("is a zip of .npy files, as np.savez writes it; unpack it first") &&
                 !ContainsSubstring("ascontiguousarray"));
  CHECK_THAT(refusal(npy(dictionary("(2,)"), 2, 3)), ContainsSubstring("format version 3.0"));
  CHECK_THAT(refusal(std::string("\x93NUMPY\x01\x01\x10\x00", 10)),
             ContainsSubstring("format version 1.1"));
}

TEST_CASE("a file that is cut short or too long is refused") {
  const std::string whole = npy(dictionary("(2, 3)"), 6);
  CHECK(refusal(whole) == "");
  CHECK_THAT(refusal(whole.substr(0, whole.size() - 1)),
             ContainsSubstring("is cut short: its shape 2×3 needs 24 bytes of data and the file "
                               "has 23"));
  CHECK_THAT(refusal(whole + "x"), ContainsSubstring("is too long: its shape 2×3 needs 24"));
  for (size_t size = 0; size < whole.size(); ++size) CHECK(refusal(whole.substr(0, size)) != "");
  // A header that says it has 4 GB must not make the program take them.
  CHECK_THAT(refusal("\x93NUMPY" + std::string("\x02\x00\xff\xff\xff\xff{}", 8)),
             ContainsSubstring("cut short in its header"));
}

TEST_CASE("a damaged header is refused") {
  for (const std::string& header : {
           std::string(),
           std::string("{}"),
           std::string("{'descr': '<f4', 'fortran_order': False}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}"),
           std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'fortran_order': False}"),
           std::string("{'descr': '<f4', 'shape': (2,), 'shape': (2,)}"),
           std::string("{'descr': '<f4', 'shape': (2,)}"),
           std::string("{descr: '<f4', 'fortran_order': False, 'shape': (2,)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (0"),
           std::string("{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}"),
           std::string("{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}"),
           std::string("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} and more"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)"),
           dictionary("(2)"),
           dictionary("2"),
           dictionary("[2]"),
           dictionary("(-2,)"),
           dictionary("(2.0,)"),
           dictionary("(02,)"),
           dictionary("(2, 01)"),
           dictionary("(2,)") + '\0',
           dictionary("(2,)") + '\0' + " and more",
           '\0' + dictionary("(2,)"),
           dictionary("(,)"),
           dictionary("(1, 2"),
           dictionary("(1 2)"),
           dictionary("(9223372036854775808,)"),
           dictionary("(4611686018427387904, 4)"),
           dictionary("(1073741824, 1073741824, 1073741824)"),
       }) {
    INFO(header);
    CHECK_THAT(refusal(npy(header, 2)), ContainsSubstring("damaged header"));
  }
}

TEST_CASE("no byte of a header reaches the terminal as it is") {
  const std::string red = "\x1b[31m", bell = "\a\n\x9b";
  for (const std::string& header :
       {"{'" + red + bell + "': 1}", dictionary("(2,)", "'<" + red + bell + "'"),
        dictionary("(2,)", "'<f4'", red)}) {
    const std::string text = refusal(npy(header, 2));
    INFO(text);
    CHECK(!text.empty());
    for (const char byte : text) CHECK((byte >= ' ' || byte < -64));  // -64 and up continue UTF-8
  }
  CHECK_THAT(refusal(npy(dictionary("(2,)", "'\x1b[2J'"), 2)), ContainsSubstring("'\\x1b[2J'"));
  const std::string with_nul("'<f4\0'", 6);
  CHECK_THAT(refusal(npy(dictionary("(2,)", with_nul), 2)), ContainsSubstring("'<f4\\x00'"));
}

TEST_CASE("a path that cannot be read is refused") {
  const Folder folder;
  CHECK_THROWS_WITH(read_npy(folder / "none.npy"), ContainsSubstring("there is no such file"));
  fs::create_directory(folder / "d.npy");
  CHECK_THROWS_WITH(read_npy(folder / "d.npy"), ContainsSubstring("it is a directory"));
  CHECK_THROWS_WITH(read_npy("/dev/null"), ContainsSubstring("a device"));
  CHECK_THROWS_AS(read_npy(""), Error);
  put(folder / "file", "");
  CHECK_THROWS_WITH(read_npy(folder / "file/x.npy"),
                    ContainsSubstring("no such file or directory"));
  CHECK_THROWS_WITH(read_npy(std::string(5000, 'x')), ContainsSubstring("the name is too long"));
}

TEST_CASE("shapes as text, and their sizes") {
  CHECK(shape_text({}) == "()");
  CHECK(shape_text({7}) == "7");
  CHECK(shape_text({2, 3, 4}) == "2×3×4");
  CHECK(element_count({}) == 1);
  CHECK(element_count({2, 3, 4}) == 24);
  CHECK(element_count({int64_t{1} << 62, 0}) == 0);
  CHECK(element_count({int64_t{1} << 30, int64_t{1} << 30}) == int64_t{1} << 60);
  CHECK_THROWS_AS(element_count({(int64_t{1} << 60) + 1}), Error);
  CHECK_THROWS_AS(element_count({int64_t{1} << 31, int64_t{1} << 31}), Error);
  CHECK_THROWS_AS(element_count({2, -1}), Error);
}
