// The table for other programs: one list of columns, each with its name and what it says of a row.
#include <functional>

#include "common/data/text.hpp"
#include "common/program/table_text.hpp"

namespace tutorial {
namespace {

std::string quoted(const std::string& text) {
  std::string inside;
  for (const char c : text) inside += c == '"' ? "\"\"" : std::string(1, c);
  return '"' + inside + '"';
}

std::string exact(double value) {
  return formatted("%.9g", value);
}

/// What a column may look at.
struct TableOfRows {
  std::string chapter;
  const Problem& problem;
  const Result* vendor;
};

/// A column says something of a row, of a kernel of it, or of both; "" where it says nothing.
struct CsvColumn {
  const char* head;
  std::function<std::string(const TableOfRows&, const Result&)> of_row = {};
  std::function<std::string(const KernelProfile&)> of_kernel = {};
};

CsvColumn of_check(const char* head, double Result::*value) {
  return {head, [value](const TableOfRows&, const Result& result) {
            return was_checked(result) ? exact(result.*value) : "";
          }};
}

CsvColumn of_time(const char* head, std::function<std::string(const Timing&)> text) {
  return {head, [text](const TableOfRows&, const Result& result) {
            return result.time ? text(*result.time) : "";
          }};
}

/// Counted on the CPU, of a row; known on a GPU, of a kernel.
CsvColumn of_counts(const char* head, std::function<int64_t(const Result&)> count,
                    std::function<int64_t(const KernelProfile&)> of_kernel = {}) {
  CsvColumn column = {head, [count](const TableOfRows&, const Result& result) {
                        return result.is_counted ? std::to_string(count(result)) : "";
                      }};
  if (of_kernel)
    column.of_kernel = [of_kernel](const KernelProfile& kernel) {
      return std::to_string(of_kernel(kernel));
    };
  return column;
}

CsvColumn of_kernel(const char* head, std::function<std::string(const Takes&)> text) {
  return {head, {}, [text](const KernelProfile& kernel) { return text(kernel.takes); }};
}

const std::vector<CsvColumn>& csv_columns() {
  static const std::vector<CsvColumn> columns = {
      {"chapter", [](const TableOfRows& t, const Result&) { return quoted(t.chapter); }},
      {"device", [](const TableOfRows& t, const Result&) { return quoted(t.problem.device); }},
      {"problem", [](const TableOfRows& t, const Result&) { return quoted(t.problem.line); }},
      {"step", [](const TableOfRows&, const Result& r) { return quoted(r.name); },
       [](const KernelProfile& kernel) { return quoted(kernel.kernel); }},
      {"kind",
       [](const TableOfRows&, const Result& r) {
         return std::string(r.is_vendor    ? "vendor"
                            : r.is_stage   ? "stage"
                            : r.number > 0 ? "step"
                                           : "goal");
       },
       [](const KernelProfile&) { return std::string("kernel"); }},
      {"check",
       [](const TableOfRows&, const Result& r) { return std::string(verdict_text(r.verdict)); }},
      {"message", [](const TableOfRows&, const Result& r) { return quoted(r.message); }},
      of_check("max_error", &Result::max_error),
      of_check("bound", &Result::bound),
      {"flop", [](const TableOfRows&, const Result& r) { return exact(r.cost.flop); }},
      {"bytes", [](const TableOfRows&, const Result& r) { return exact(r.cost.bytes); }},
      of_time("median_ms", [](const Timing& time) { return exact(time.median_ms); }),
      of_time("low_ms", [](const Timing& time) { return exact(time.low_ms); }),
      of_time("high_ms", [](const Timing& time) { return exact(time.high_ms); }),
      of_time("repeats", [](const Timing& time) { return std::to_string(time.repeats); }),
      {"of_vendor",
       [](const TableOfRows& t, const Result& r) {
         if (!r.time || t.vendor == nullptr || r.is_stage) return std::string();
         return exact(t.vendor->time->median_ms / r.time->median_ms);
       }},
      {"of_bound",
       [](const TableOfRows&, const Result& r) {
         return r.time ? exact(r.bound_ms / r.time->median_ms) : std::string();
       }},
      of_time("clock_mhz", [](const Timing& time) { return formatted("%.0f", time.clock_mhz); }),
      of_kernel("registers", [](const Takes& takes) { return std::to_string(takes.registers); }),
      of_kernel("shared_bytes",
                [](const Takes& takes) { return std::to_string(takes.shared_bytes); }),
      of_kernel("local_bytes",
                [](const Takes& takes) { return std::to_string(takes.local_bytes); }),
      of_kernel("occupancy", [](const Takes& takes) { return exact(takes.occupancy); }),
      of_counts(
          "blocks", [](const Result& r) { return r.blocks; },
          [](const KernelProfile& kernel) { return kernel.takes.blocks; }),
      of_counts(
          "threads", [](const Result& r) { return r.threads; },
          [](const KernelProfile& kernel) { return kernel.takes.blocks * kernel.takes.threads; }),
      of_counts("global_load_bytes", [](const Result& r) { return r.counts.loads.bytes; }),
      of_counts("global_store_bytes", [](const Result& r) { return r.counts.stores.bytes; }),
      of_counts("shared_loads", [](const Result& r) { return shared_loads(r.counts); }),
      of_counts("shared_stores", [](const Result& r) { return shared_stores(r.counts); }),
      of_counts("barriers", [](const Result& r) { return r.counts.barriers; }),
      of_counts("warp_operations", [](const Result& r) { return r.counts.warp_operations; }),
      of_counts(
          "atomics",
          [](const Result& r) { return r.counts.atomics.lanes + r.counts.shared_atomics.lanes; }),
      of_counts("load_requests", [](const Result& r) { return r.counts.loads.requests; }),
      of_counts("load_sectors", [](const Result& r) { return r.counts.loads.sectors; }),
      of_counts("store_requests", [](const Result& r) { return r.counts.stores.requests; }),
      of_counts("store_sectors", [](const Result& r) { return r.counts.stores.sectors; }),
      of_counts("shared_load_requests",
                [](const Result& r) { return r.counts.shared_loads.requests; }),
      of_counts("shared_load_conflicts",
                [](const Result& r) { return r.counts.shared_loads.conflicts; }),
      of_counts("shared_store_requests",
                [](const Result& r) { return r.counts.shared_stores.requests; }),
      of_counts("shared_store_conflicts",
                [](const Result& r) { return r.counts.shared_stores.conflicts; }),
  };
  return columns;
}

/// One line: what `cell` gives for each column.
template <class Cell>
std::string line_of(Cell cell) {
  std::string line;
  for (const CsvColumn& column : csv_columns())
    line += (&column == &csv_columns()[0] ? "" : ",") + cell(column);
  return line + '\n';
}

}  // namespace

std::string csv_text(const std::vector<Result>& results, const std::string& chapter,
                     const Problem& problem) {
  const TableOfRows table = {chapter, problem, vendor_of(results)};
  std::string csv = line_of([](const CsvColumn& column) { return std::string(column.head); });
  for (const Result& result : results) {
    csv += line_of([&](const CsvColumn& column) {
      return column.of_row ? column.of_row(table, result) : std::string();
    });
    if (result.is_vendor) continue;
    for (const KernelProfile& kernel : result.kernels) {
      if (kernel.takes.registers == 0) continue;  // not known on the CPU
      csv += line_of([&](const CsvColumn& column) -> std::string {
        if (column.of_kernel) return column.of_kernel(kernel);
        const std::string head = column.head;
        const bool names_the_run = head == "chapter" || head == "device" || head == "problem";
        return names_the_run ? column.of_row(table, result) : "";
      });
    }
  }
  return csv;
}

}  // namespace tutorial
