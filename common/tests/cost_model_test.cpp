// The formulas in the steps' headers.
#include "common/program/cost_model.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "common/kernel/error.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

namespace {
const std::map<std::string, double> kSizes = {{"M", 70}, {"N", 50}, {"K", 33}, {"NH_kv", 2}};
}

TEST_CASE("a formula's value") {
  CHECK(evaluate("4·M·N", kSizes) == 4 * 70 * 50);
  CHECK(evaluate("4·K·(M·⌈N/16⌉ + N·⌈M/16⌉)", kSizes) == 4 * 33 * (70 * 4 + 50 * 5));
  CHECK(evaluate("M - N / 2 + 1", kSizes) == 46);
  CHECK(evaluate(" 8 · NH_kv ", kSizes) == 16);
}

TEST_CASE("a formula that cannot be computed says why") {
  const auto message = [](const std::string& formula) -> std::string {
    try {
      evaluate(formula, kSizes);
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK_THAT(message("4·X"), ContainsSubstring("\"X\""));
  CHECK_THAT(message("(M"), ContainsSubstring(") is missing"));
  CHECK_THAT(message("⌈M"), ContainsSubstring("⌉ is missing"));
  CHECK_THAT(message("M N"), ContainsSubstring("left over"));
  CHECK_THAT(message("4·"), ContainsSubstring("a number or a name"));
}

TEST_CASE("every step that has kernels states what they ask for") {
  int files = 0;
  for (const auto& chapter : std::filesystem::directory_iterator(TUTORIAL_SOURCE_DIR)) {
    const std::string folder = chapter.path().filename().string();
    if (!chapter.is_directory() || folder.size() < 3 || folder[2] != '_') continue;
    for (const auto& file : std::filesystem::directory_iterator(chapter.path())) {
      const std::string name = file.path().filename().string();
      if (!name.starts_with("step") || file.path().extension() != ".cu") continue;
      std::ifstream stream(file.path());
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      if (text.find("__global__") == text.npos) continue;
      INFO(folder << "/" << name);
      const bool named = text.find("asked for by") != text.npos;
      CHECK((named || read_cost_model(file.path().string(), "any_kernel")));
      ++files;
    }
  }
  CHECK(files >= 20);
}

TEST_CASE("a model belongs to the kernel that it names") {
  const std::string path = TUTORIAL_SOURCE_DIR "/03_masked_bmm/step1_bmm_then_fill.cu";
  CHECK(read_cost_model(path, "fill_masked")->loads == "B·M·N");
  CHECK(read_cost_model(path, "batched_product<1>")->stores == "4·B·M·N");
  CHECK_FALSE(read_cost_model(path, "another"));
  CHECK_FALSE(read_cost_model("no such file", "fill_masked"));
}
