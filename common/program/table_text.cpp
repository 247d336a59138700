#include "common/program/table_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string_view>

#include "common/data/text.hpp"

namespace tutorial {
namespace {

using Cells = std::vector<std::string>;

const char* const kNothing = "–";

std::string percent_text(double fraction) {
  return formatted(fraction >= 0.0995 ? "%.0f %%" : "%.1f %%", 100 * fraction);
}

/// Breaks a text between words into lines of at most `width` columns.
std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines = {""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (screen_width(line) + 1 + screen_width(word) <= width)
      line += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

// Aligns columns: the first two to the left, numbers to the right. The last cell of a line that is
// shorter than the first line is a remark, which takes as many lines as it needs.
std::string aligned(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const Cells& line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      if (line.size() == widths.size() || i + 1 < line.size())
        widths[i] = std::max(widths[i], screen_width(line[i]));

  std::string text;
  for (const Cells& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool is_remark = line.size() < widths.size() && i + 1 == line.size();
      if (i > 0) row += "  ";
      if (is_remark) {
        const size_t indent = screen_width(row);
        const auto parts = wrapped(line[i], kTableWidth - std::min(indent, kTableWidth / 2));
        for (size_t p = 0; p < parts.size(); ++p)
          row += (p == 0 ? "" : "\n" + std::string(indent, ' ')) + parts[p];
        continue;
      }
      const std::string padding(widths[i] - screen_width(line[i]), ' ');
      row += i < 2 ? line[i] + padding : padding + line[i];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

}  // namespace

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::wrong:
      return "WRONG";
    case Verdict::failed:
      return "FAILED";
    case Verdict::refused:
      return "refused";
    case Verdict::sampled:
      return "sampled";
    case Verdict::skipped:
      return "skipped";
  }
  return "";
}

namespace {

std::string name_text(const Result& result) {
  std::string prefix = "  ";
  if (result.is_stage) prefix = "    ";
  if (result.number > 0) prefix = std::to_string(result.number) + " ";
  return prefix + result.name;
}

}  // namespace

const Result* vendor_of(const std::vector<Result>& results) {
  for (const Result& result : results)
    if (result.is_vendor && result.time) return &result;
  return nullptr;
}

namespace {

struct Column {
  std::string head;
  std::function<std::string(const Result&)> cell;
  bool is_extra = false;  // shown only where all columns are asked for
};

double ms_of(const Result& result) {
  return std::max(result.time->median_ms, 1e-6);
}

/// The timed step before this one in the list, whatever stages stand between them; or null.
const Result* step_before(const std::vector<Result>& results, const Result& result) {
  const Result* before = nullptr;
  for (const Result& other : results)
    if (other.number > 0 && other.number < result.number && other.time && !other.is_stage &&
        (before == nullptr || other.number > before->number))
      before = &other;
  return before;
}

std::vector<Column> time_columns(const std::vector<Result>& results) {
  double shortest = 1e9;
  bool any_arithmetic = false, any_memory = false, any_bound = false;
  for (const Result& result : results) {
    if (!result.time) continue;
    shortest = std::min(shortest, std::max(result.time->median_ms, 1e-6));
    (result.by_arithmetic ? any_arithmetic : any_memory) = true;
    any_bound = any_bound || result.bound_ms > 0;
  }
  if (!any_arithmetic && !any_memory) return {};  // nothing was timed

  // Enough decimals for three digits of the shortest time.
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(shortest))), 2, 6);
  const std::string ms_format = "%." + std::to_string(decimals) + "f";
  const bool mixed = any_arithmetic && any_memory;
  std::vector<Column> columns = {
      {"ms",
       [=](const Result& result) { return formatted(ms_format.c_str(), result.time->median_ms); }},
      {"spread",
       [](const Result& result) {
         return percent_text((result.time->high_ms - result.time->low_ms) / ms_of(result));
       },
       true},
      // The rate that the row's bound limits.
      {mixed            ? "rate"
       : any_arithmetic ? "TFLOP/s"
                        : "GB/s",
       [=](const Result& result) {
         const double rate = result.by_arithmetic ? result.cost.flop / ms_of(result) / 1e9
                                                  : result.cost.bytes / ms_of(result) / 1e6;
         const char* unit = result.by_arithmetic ? " TFLOP/s" : " GB/s";
         return three_digits(rate) + (mixed ? unit : "");
       }},
  };
  if (const Result* vendor = vendor_of(results))
    columns.push_back({"of " + vendor->name, [vendor](const Result& result) {
                         return result.is_stage ? std::string(kNothing)
                                                : percent_text(ms_of(*vendor) / ms_of(result));
                       }});
  if (any_bound)
    columns.push_back({"of bound", [](const Result& result) {
                         return percent_text(result.bound_ms / ms_of(result));
                       }});
  // What the step's one idea brought: how many times faster it is than the step before.
  const bool any_gain = std::any_of(results.begin(), results.end(), [&](const Result& result) {
    return result.time && step_before(results, result) != nullptr;
  });
  if (any_gain)
    columns.push_back({"gain", [&results](const Result& result) {
                         const Result* before = step_before(results, result);
                         return before == nullptr
                                    ? kNothing
                                    : "×" + three_digits(ms_of(*before) / ms_of(result));
                       }});
  for (Column& column : columns)
    column.cell = [cell = column.cell](const Result& result) {
      return result.time ? cell(result) : kNothing;
    };
  return columns;
}

int64_t bank_conflicts(const Counts& counts) {
  return counts.shared_loads.conflicts + counts.shared_stores.conflicts +
         counts.shared_atomics.conflicts;
}

/// Global memory: loads, stores and atomics together.
Traffic global_traffic(const Counts& counts) {
  Traffic traffic = counts.loads;
  traffic += counts.stores;
  traffic += counts.atomics;
  return traffic;
}

struct Count {
  const char* head;
  bool is_bytes, is_extra;
  int64_t (*of)(const Result& result);
};

constexpr Count kCounts[] = {
    {"blocks", false, true, [](const Result& r) { return r.blocks; }},
    {"threads", false, true, [](const Result& r) { return r.threads; }},
    {"loads", true, false, [](const Result& r) { return r.counts.loads.bytes; }},
    {"stores", true, false, [](const Result& r) { return r.counts.stores.bytes; }},
    {"shared accesses", false, true,
     [](const Result& r) { return shared_loads(r.counts) + shared_stores(r.counts); }},
    {"conflicts", false, false, [](const Result& r) { return bank_conflicts(r.counts); }},
    {"barriers", false, false, [](const Result& r) { return r.counts.barriers; }},
    {"warp ops", false, true, [](const Result& r) { return r.counts.warp_operations; }},
    {"atomics", false, true,
     [](const Result& r) { return r.counts.atomics.lanes + r.counts.shared_atomics.lanes; }},
};

bool uses_shared_memory(const Result& result) {
  const Counts& counts = result.counts;
  return shared_loads(counts) + shared_stores(counts) + counts.shared_atomics.lanes > 0;
}

std::vector<Column> count_columns(const std::vector<Result>& results) {
  std::vector<Column> columns;
  for (const Count& count : kCounts) {
    const bool used = std::any_of(results.begin(), results.end(), [&](const Result& result) {
      // No bank conflicts are news, where there is shared memory.
      const bool is_news =
          std::string_view(count.head) == "conflicts" && uses_shared_memory(result);
      return result.is_counted && (count.of(result) > 0 || is_news);
    });
    if (!used) continue;
    columns.push_back({count.head,
                       [&count](const Result& result) -> std::string {
                         // A routine that is no kernel (the vendor's) counts nothing.
                         if (!result.is_counted || result.blocks == 0) return kNothing;
                         const int64_t value = count.of(result);
                         return count.is_bytes ? with_prefix(static_cast<double>(value), "B")
                                               : count_text(value);
                       },
                       count.is_extra});
    if (columns.back().head == "stores")
      columns.push_back({"sectors/request", [](const Result& result) -> std::string {
                           const Traffic traffic = global_traffic(result.counts);
                           if (traffic.requests == 0) return kNothing;
                           return formatted("%.1f", static_cast<double>(traffic.sectors) /
                                                        static_cast<double>(traffic.requests));
                         }});
  }
  return columns;
}

}  // namespace

std::string table_text(const std::vector<Result>& results, bool has_clock, bool all_columns) {
  std::vector<Column> columns = {
      {"step", name_text},
      {"check", [](const Result& result) { return verdict_text(result.verdict); }},
      {"max error", [](const Result& result) { return formatted("%.1e", result.max_error); }},
      {"bound", [](const Result& result) { return formatted("%.1e", result.bound); }, true},
  };
  for (Column& column : has_clock ? time_columns(results) : count_columns(results))
    columns.push_back(std::move(column));
  if (!all_columns) std::erase_if(columns, [](const Column& column) { return column.is_extra; });

  std::vector<Cells> lines(1);
  for (const Column& column : columns) lines[0].push_back(column.head);
  // The vendor's row comes last, whenever it ran.
  for (const bool vendors : {false, true})
    for (const Result& result : results) {
      if (result.is_vendor != vendors) continue;
      Cells line;
      if (was_checked(result))
        for (const Column& column : columns) line.push_back(column.cell(result));
      else
        line = {name_text(result),
                std::string(verdict_text(result.verdict)) + ": " + result.message};
      lines.push_back(std::move(line));
    }
  return aligned(lines);
}

}  // namespace tutorial
