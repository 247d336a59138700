#include "common/testing/printed_table.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "common/data/text.hpp"

namespace tutorial {
namespace {

/// What stands between two blanks or more. The first cell keeps what it begins with.
Words cells_of(const std::string& line) {
  Words cells;
  size_t begin = 0;
  const size_t words = line.find_first_not_of(' ');
  for (size_t end = words; end != line.npos;) {
    end = line.find("  ", end);
    cells.push_back(line.substr(begin, end - begin));
    begin = end = line.find_first_not_of(' ', end);
  }
  return cells;
}

/// The lines from the one of the heads to the next empty one. None where nothing has a row.
std::vector<Words> table_in(const std::string& out) {
  std::vector<Words> table;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (!table.empty() && line.empty()) break;
    const Words cells = cells_of(line);
    if (!table.empty() || (cells.size() > 2 && cells[0] == "step" && cells[1] == "check"))
      table.push_back(cells);
  }
  return table;
}

std::string bytes_text(double bytes) {
  return with_prefix(bytes, "B");
}

/// What a column says of a row; "" for a column that is no concern here.
std::string cell_of(const std::string& head, const ProgramRun::Row& row) {
  const auto sum = [&](const std::string& what) {
    return row.number("load_" + what) + row.number("store_" + what);
  };
  const auto count = [&](const char* column) {
    return count_text(static_cast<int64_t>(row.number(column)));
  };
  if (head == "check") return row.check;
  if (head == "max error") return formatted("%.1e", row.number("max_error"));
  if (row.check != "ok") return "–";
  const bool is_counted = row.number("blocks") > 0;  // else it is no kernel of ours
  if (head == "sectors/request") {
    if (row.number("atomics") > 0) return "";  // which have sectors, too
    return sum("requests") == 0 ? "–" : formatted("%.1f", sum("sectors") / sum("requests"));
  }
  if (head == "conflicts" && row.number("atomics") > 0) return "";
  if (!is_counted) return "–";
  if (head == "loads") return bytes_text(row.number("global_load_bytes"));
  if (head == "stores") return bytes_text(row.number("global_store_bytes"));
  if (head == "conflicts")
    return count_text(static_cast<int64_t>(row.number("shared_load_conflicts") +
                                           row.number("shared_store_conflicts")));
  if (head == "barriers") return count("barriers");
  return "";
}

bool ends_with_name(const std::string& cell, const std::string& name) {
  return cell.ends_with(" " + name);
}

}  // namespace

void check_printed_table(const ProgramRun& run) {
  const std::vector<Words> table = table_in(run.out);
  if (run.rows.empty()) return;
  REQUIRE(!table.empty());
  std::vector<const ProgramRun::Row*> rows;
  for (const bool vendors : {false, true})
    for (const ProgramRun::Row& row : run.rows)
      if ((row.kind == "vendor") == vendors) rows.push_back(&row);
  size_t line = 1;
  for (const ProgramRun::Row* row : rows) {
    // A remark may go on for some lines.
    while (line < table.size() && !ends_with_name(table[line][0], row->name)) ++line;
    CAPTURE(row->name);
    REQUIRE(line < table.size());
    const Words& cells = table[line++];
    if (row->check != "ok" && row->check != "WRONG") continue;
    REQUIRE(cells.size() == table[0].size());
    for (size_t i = 1; i < cells.size(); ++i) {
      CAPTURE(table[0][i]);
      const std::string want = cell_of(table[0][i], *row);
      CHECK((want.empty() || cells[i] == want));
    }
  }
}

}  // namespace tutorial
