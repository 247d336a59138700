// The pages against the sources: a snippet on a page is the code itself, and a link leads
// somewhere.
//
// A snippet names its file in the line before it, `<!-- from 01_naive_matmul/step2_coalesced.cu
// -->`. Its lines must stand in that file, one after the other, at any indentation. A line `…`
// leaves code out: what follows it stands somewhere further down the file.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

struct Snippet {
  std::string language;
  std::string from;  // the file that it names; empty if none
  int line;          // of the page, counted from 1
  Lines lines;
};

struct Page {
  std::vector<Snippet> snippets;
  std::vector<std::string> links;  // of this project only
  Lines problems;
};

/// The files of the project, by their path from its root.
struct Files {
  std::function<std::optional<std::string>(const std::string& path)> text;
  std::function<bool(const std::string& path)> exist;
};

Lines split_lines(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    lines.push_back(line);
  }
  return lines;
}

size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

std::string without_indentation(const std::string& line) {
  return line.substr(indentation(line));
}

/// Do the lines [first, last) stand in `file` from line `at` on, all indented more or less by the
/// same?
bool stand_at(const std::string* first, const std::string* last, const Lines& file, size_t at) {
  if (static_cast<size_t>(last - first) > file.size() - at) return false;
  const auto shift = [](const std::string& here, const std::string& there) {
    return static_cast<long>(indentation(here)) - static_cast<long>(indentation(there));
  };
  std::optional<long> common;
  for (const std::string* line = first; line != last; ++line, ++at) {
    if (without_indentation(*line) != without_indentation(file[at])) return false;
    if (line->empty()) continue;
    if (!common) common = shift(*line, file[at]);
    if (shift(*line, file[at]) != *common) return false;
  }
  return true;
}

/// The first part of a snippet, up to a line `…`, that does not stand in the file below the part
/// before it: its number of lines into the snippet. Nothing when all of it is there.
std::optional<size_t> missing_part(const Lines& snippet, const Lines& file) {
  const std::string* const begin = snippet.data();
  const std::string* const end = begin + snippet.size();
  size_t at = 0;
  for (const std::string* first = begin; first < end;) {
    const std::string* const last =
        std::find_if(first, end, [](const auto& line) { return without_indentation(line) == "…"; });
    if (first != last) {
      while (at < file.size() && !stand_at(first, last, file, at)) ++at;
      if (at == file.size()) return first - begin;
      at += static_cast<size_t>(last - first);
    }
    first = last + 1;
  }
  return {};
}

/// Appends what a line of prose links to: [text](target), ![text](target), src="target", href="…".
void collect_links(std::string line, std::vector<std::string>& links) {
  static const std::regex code("`[^`]*`"), elsewhere("(#|[A-Za-z][A-Za-z0-9+.-]*:).*"),
      link(R"re(\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)")re");
  line = std::regex_replace(line, code, "");
  for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
    const std::string target = (*match)[1].str() + (*match)[2].str();
    if (!std::regex_match(target, elsewhere)) links.push_back(target.substr(0, target.find('#')));
  }
}

Page read_page(const std::string& text) {
  static const std::regex fence("\\s*(```+)\\s*([^`\\s]*).*"), marker("\\s*<!-- from (\\S+) -->");
  Page page;
  std::string from, open;  // open: the backticks that a fence began with, while in it
  int number = 0;
  const auto expect_no_marker = [&] {
    if (!from.empty())
      page.problems.push_back("line " + std::to_string(number) + ": no snippet follows \"from " +
                              from + "\"");
    from.clear();
  };
  for (const std::string& line : split_lines(text)) {
    ++number;
    std::smatch match;
    if (!open.empty()) {
      if (without_indentation(line) == open)
        open.clear();
      else
        page.snippets.back().lines.push_back(line);
    } else if (std::regex_match(line, match, fence)) {
      open = match[1];
      page.snippets.push_back({match[2], from, number, {}});
      from.clear();
    } else if (std::regex_match(line, match, marker)) {
      expect_no_marker();
      from = match[1];
    } else if (!line.empty()) {
      expect_no_marker();
      collect_links(line, page.links);
    }
  }
  expect_no_marker();
  if (!open.empty()) page.problems.push_back("the last ``` is not closed");
  return page;
}

/// All that is wrong with the page at `path`, one sentence each.
Lines problems(const std::string& path, const std::string& text, const Files& files) {
  static const std::set<std::string> code = {"cpp", "c++", "cuda", "cu"};
  static const std::regex chapter_page("docs/[0-9][0-9]_.*");
  Page page = read_page(text);
  Lines found = page.problems;
  for (const Snippet& snippet : page.snippets) {
    const std::string where = "line " + std::to_string(snippet.line) + ": ";
    if (snippet.from.empty()) {
      if (code.count(snippet.language) && std::regex_match(path, chapter_page))
        found.push_back(where + "the snippet does not name its file in a line <!-- from FILE -->");
      continue;
    }
    const std::optional<std::string> source = files.text(snippet.from);
    if (!source) {
      found.push_back(where + "there is no file " + snippet.from);
    } else if (snippet.lines.empty()) {
      found.push_back(where + "the snippet is empty");
    } else if (const auto part = missing_part(snippet.lines, split_lines(*source))) {
      found.push_back(where + "not in " + snippet.from +
                      ", or not in this order: the lines from \"" +
                      without_indentation(snippet.lines[*part]) + "\" on");
    }
  }
  for (const std::string& link : page.links) {
    const fs::path target = (fs::path(path).parent_path() / link).lexically_normal();
    if (!files.exist(target.string())) found.push_back("the link to " + link + " leads nowhere");
  }
  return found;
}

// ---- the checker itself

const Files sample_files = {
    [](const std::string& path) -> std::optional<std::string> {
      if (path != "a/step.cu") return {};
      return "// one\nvoid f() {\n  int x = 1;\n\n  if (x) {\n    g();\n  }\n}\n\nvoid h() {}\n";
    },
    [](const std::string& path) {
      return std::set<std::string>{"a/step.cu", "docs/setup.md", "README.md"}.count(path) > 0;
    }};

/// A chapter's page with one snippet of a/step.cu.
Lines snippet_problems(const std::string& snippet) {
  return problems("docs/01_a.md", "<!-- from a/step.cu -->\n```cuda\n" + snippet + "```\n",
                  sample_files);
}

}  // namespace

TEST_CASE("page checker: snippets that are in the file pass") {
  CHECK(snippet_problems("void f() {\n  int x = 1;\n").empty());
  CHECK(snippet_problems("if (x) {\n  g();\n}\n").empty());  // less indented
  CHECK(
      snippet_problems("      int x = 1;\n\n      if (x) {\n").empty());  // more, and an empty line
  CHECK(snippet_problems("int x = 1;\n…\n    g();\n…\nvoid h() {}\n").empty());
  CHECK(snippet_problems("…\ng();\n…\n").empty());
  CHECK(snippet_problems("void h() {}\n").empty());  // the last line
}

TEST_CASE("page checker: snippets that are not in the file fail") {
  CHECK(snippet_problems("int x = 2;\n").size() == 1);
  CHECK(snippet_problems("int x = 1;\nif (x) {\n").size() == 1);        // a line is left out
  CHECK(snippet_problems("if (x) {\n    g();\n}\n").size() == 1);       // indented unevenly
  CHECK(snippet_problems("void h() {}\n…\nint x = 1;\n").size() == 1);  // in the wrong order
  CHECK(snippet_problems("int x = 1;\n…\nint x = 1;\n").size() == 1);   // there only once
  CHECK(snippet_problems("void h() {}\nvoid h() {}\n").size() == 1);    // beyond the end
  CHECK(snippet_problems("").size() == 1);
  CHECK(snippet_problems("g();\n…\nvoid i() {}\n").at(0) ==
        "line 2: not in a/step.cu, or not in this order: the lines from \"void i() {}\" on");
}

TEST_CASE("page checker: markers") {
  const auto count = [](const std::string& path, const std::string& text) {
    return problems(path, text, sample_files).size();
  };
  CHECK(count("docs/01_a.md", "```cpp\nanything\n```\n") == 1);  // no marker on a chapter's page
  CHECK(count("docs/setup.md", "```cpp\nanything\n```\n") == 0);
  CHECK(count("docs/01_a.md", "```sh\nls\n```\n```\nplain\n```\n") == 0);
  CHECK(count("README.md", "<!-- from a/step.cu -->\n\n```cpp\nvoid g() {}\n```\n") == 1);
  CHECK(count("README.md", "<!-- from a/none.cu -->\n```cpp\ng();\n```\n") == 1);
  CHECK(count("README.md", "<!-- from a/step.cu -->\nprose\n") == 1);
  CHECK(count("README.md", "prose\n<!-- from a/step.cu -->\n") == 1);
  CHECK(count("README.md", "<!-- from a/step.cu -->\n```cpp\ng();\n") == 1);  // never closed
  CHECK(count("README.md", "- a list\n  <!-- from a/step.cu -->\n  ```cpp\n  g();\n  ```\n") == 0);
  CHECK(count("README.md", "````md\n<!-- from x -->\n```cpp\n```\n````\n") ==
        0);  // shown, not meant
}

TEST_CASE("page checker: links") {
  const auto count = [](const std::string& text) {
    return problems("docs/01_a.md", text, sample_files).size();
  };
  CHECK(count("[a](setup.md), [b](../README.md#part) and ![c](../a/step.cu \"title\")\n") == 0);
  CHECK(count("[web](https://example.org/x) [here](#part) [post](mailto:a@example.org)\n") == 0);
  CHECK(count("`[not](a-link.md)`\n```\n[nor](this.md)\n```\n") == 0);
  CHECK(count("[a](setup.md) [gone](gone.md)\n") == 1);
  CHECK(count("![gone](figures/gone.svg)\n") == 1);
  CHECK(count("[![gone](gone.svg)](gone.md)\n") == 2);
  CHECK(count("<img src=\"gone.svg\"> <a href=\"setup.md\">\n") == 1);
  CHECK(count("[outside](../../README.md)\n") == 1);
}

// ---- the project's pages

namespace {

const fs::path root = TUTORIAL_SOURCE_DIR;

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(root / path);
  if (!file || fs::is_directory(root / path)) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// README.md and all below docs/, as paths from the root.
Lines project_pages() {
  Lines pages = {"README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md")
      pages.push_back(fs::relative(entry.path(), root).generic_string());
  std::sort(pages.begin(), pages.end());
  return pages;
}

}  // namespace

TEST_CASE("pages: snippets are the code and links lead somewhere") {
  const Files files = {file_text, [](const std::string& path) { return fs::exists(root / path); }};
  for (const std::string& page : project_pages()) {
    const std::optional<std::string> text = file_text(page);
    REQUIRE(text.has_value());
    for (const std::string& problem : problems(page, *text, files))
      FAIL_CHECK(page + ": " + problem);
  }
}

TEST_CASE("pages: each chapter has one and docs/README.md lists them all") {
  const std::string index = file_text("docs/README.md").value_or("");
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !std::regex_match(name, std::regex("[0-9][0-9]_.*"))) continue;
    INFO(name);
    CHECK(file_text("docs/" + name + ".md").has_value());
  }
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".md" || name == "README.md") continue;
    INFO(name);
    CHECK(index.find("](" + name + ")") != std::string::npos);
  }
}
