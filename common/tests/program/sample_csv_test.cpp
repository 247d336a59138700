// --sample-csv: a line a launch, with the figures of all its blocks.
#include "common/program/sample_csv.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace tutorial;

namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) all.push_back(cell);
  return all;
}

}  // namespace

TEST_CASE("--sample-csv multiplies what the sample counted, and has a value a head", "[chapter]") {
  SampledLaunch launch{PlannedLaunch{
      .kernel = "copy_kernel", .grid = {10, 20, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}}};
  launch.sampled = 4;
  launch.counts.loads = {.requests = 8, .sectors = 32};
  launch.arithmetic.products = 2;
  launch.touched = {{.allocated = 64, .loaded = 2, .stored = 0, .shared = {1, 0.5, 0}}};
  Result result;
  result.name = "copy";
  const std::vector<std::string> heads = cells(sample_csv_heads());
  const std::vector<std::string> values =
      cells(sample_csv_lines("99_copies", "M=3", result, {launch}));
  REQUIRE(heads.size() == values.size());
  const auto value = [&](const std::string& head) {
    for (size_t i = 0; i < heads.size(); ++i)
      if (heads[i] == head) return values[i];
    return std::string("no such head");
  };
  CHECK(value("step") == "copy");
  CHECK(value("kernel") == "\"copy_kernel\"");
  CHECK(value("blocks") == "200");
  CHECK(value("load_requests") == "400");
  CHECK(value("load_sectors") == "1600");
  CHECK(value("products") == "100");
  CHECK(values.back() == "64:2:0:1:0.5:0 \n");
}
