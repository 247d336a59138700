// The table at the end of a chapter's program, for people and for other programs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "common/program/state.hpp"

namespace tutorial {
namespace {

using Cells = std::vector<std::string>;

const char* const kNothing = "–";

std::string number_text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent_text(double fraction) {
  return number_text(fraction >= 0.0995 ? "%.0f %%" : "%.1f %%", 100 * fraction);
}

// Aligns columns: the first two to the left, numbers to the right. The last cell of a line that is
// shorter than the first line is a remark, as wide as it likes.
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
      const size_t taken = std::min(screen_width(line[i]), widths[i]);
      const std::string padding(widths[i] - taken, ' ');
      row += (i == 0 ? "" : "  ") + (i < 2 ? line[i] + padding : padding + line[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

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
    case Verdict::skipped:
      return "skipped";
  }
  return "";
}

bool was_checked(const Result& result) {
  return result.verdict == Verdict::ok || result.verdict == Verdict::wrong;
}

std::string name_text(const Result& result) {
  std::string prefix = "  ";
  if (result.is_stage) prefix = "    ";
  if (result.number > 0) prefix = std::to_string(result.number) + " ";
  return prefix + result.name;
}

// The row that is 100 %: the first vendor's that was right.
const Result* vendor_of(const std::vector<Result>& results) {
  for (const Result& result : results)
    if (result.is_vendor && result.time) return &result;
  return nullptr;
}

struct Column {
  std::string head;
  std::function<std::string(const Result&)> cell;
};

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
       [=](const Result& result) {
         return number_text(ms_format.c_str(), result.time->median_ms);
       }},
      {"spread",
       [](const Result& result) {
         const Timing& time = *result.time;
         return percent_text((time.high_ms - time.low_ms) / std::max(time.median_ms, 1e-6));
       }},
      // The rate that the row's bound limits.
      {mixed            ? "rate"
       : any_arithmetic ? "TFLOP/s"
                        : "GB/s",
       [=](const Result& result) {
         const double ms = std::max(result.time->median_ms, 1e-6);
         const double rate = result.by_arithmetic ? result.cost.flop / ms / 1e9    // TFLOP/s
                                                  : result.cost.bytes / ms / 1e6;  // GB/s
         const char* unit = result.by_arithmetic ? " TFLOP/s" : " GB/s";
         return three_digits(rate) + (mixed ? unit : "");
       }},
  };
  if (const Result* vendor = vendor_of(results)) {
    const double vendor_ms = vendor->time->median_ms;
    columns.push_back({"of " + vendor->name, [=](const Result& result) {
                         if (result.is_stage) return std::string(kNothing);
                         return percent_text(vendor_ms / std::max(result.time->median_ms, 1e-6));
                       }});
  }
  if (any_bound)
    columns.push_back({"of bound", [](const Result& result) {
                         return percent_text(result.bound_ms /
                                             std::max(result.time->median_ms, 1e-6));
                       }});
  for (Column& column : columns)
    column.cell = [cell = column.cell](const Result& result) {
      return result.time ? cell(result) : kNothing;
    };
  return columns;
}

struct Count {
  const char* head;
  bool is_bytes;
  int64_t (*of)(const Result&);  // one with `work`
};

int64_t bank_conflicts(const Counts& counts) {
  return counts.shared_loads.conflicts + counts.shared_stores.conflicts +
         counts.shared_atomics.conflicts;
}

/// Device memory by warps: loads, stores and atomics together.
Traffic global_traffic(const Counts& counts) {
  Traffic traffic = counts.loads;
  traffic += counts.stores;
  traffic += counts.atomics;
  return traffic;
}

constexpr Count kCounts[] = {
    {"blocks", false, [](const Result& r) { return r.work->blocks; }},
    {"threads", false, [](const Result& r) { return r.work->threads; }},
    {"global loads", true, [](const Result& r) { return r.work->global_load_bytes; }},
    {"global stores", true, [](const Result& r) { return r.work->global_store_bytes; }},
    {"shared accesses", false,
     [](const Result& r) { return r.work->shared_loads + r.work->shared_stores; }},
    {"bank conflicts", false, [](const Result& r) { return bank_conflicts(r.counts); }},
    {"barriers", false, [](const Result& r) { return r.work->barriers; }},
    {"warp ops", false, [](const Result& r) { return r.work->warp_operations; }},
    {"atomics", false, [](const Result& r) { return r.work->atomics; }},
};

std::vector<Column> count_columns(const std::vector<Result>& results) {
  std::vector<Column> columns;
  for (const Count& count : kCounts) {
    const bool used = std::any_of(results.begin(), results.end(), [&](const Result& result) {
      return result.work && count.of(result) > 0;
    });
    // No bank conflicts are news, where there is shared memory.
    const bool is_news = std::string_view(count.head) == "bank conflicts" && !columns.empty() &&
                         columns.back().head == "shared accesses";
    if (!used && !is_news) continue;
    columns.push_back({count.head, [&count](const Result& result) -> std::string {
                         // A routine that is no kernel (the vendor's) counts nothing.
                         if (!result.work || result.work->blocks == 0) return kNothing;
                         const int64_t value = count.of(result);
                         return count.is_bytes ? with_prefix(static_cast<double>(value), "B")
                                               : count_text(value);
                       }});
    if (columns.back().head == "global stores")
      columns.push_back({"sectors/request", [](const Result& result) -> std::string {
                           const Traffic traffic = global_traffic(result.counts);
                           if (traffic.requests == 0) return kNothing;
                           return number_text("%.1f", static_cast<double>(traffic.sectors) /
                                                          static_cast<double>(traffic.requests));
                         }});
  }
  return columns;
}

}  // namespace

std::string count_text(int64_t count) {
  return count < 1'000'000 ? std::to_string(count) : with_prefix(static_cast<double>(count), "");
}

size_t screen_width(const std::string& text) {  // UTF-8 continuation bytes take nothing
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string three_digits(double value) {
  return number_text(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
}

std::string table_text(const std::vector<Result>& results, bool has_clock) {
  std::vector<Column> columns = {
      {"step", name_text},
      {"check", [](const Result& result) { return verdict_text(result.verdict); }},
      {"max error", [](const Result& result) { return number_text("%.1e", result.max_error); }},
      {"bound", [](const Result& result) { return number_text("%.1e", result.bound); }},
  };
  for (Column& column : has_clock ? time_columns(results) : count_columns(results))
    columns.push_back(std::move(column));

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

std::string csv_text(const std::vector<Result>& results, const std::string& chapter,
                     const std::string& device, const std::string& problem) {
  const auto quoted = [](const std::string& text) {
    std::string inside;
    for (const char c : text) inside += c == '"' ? "\"\"" : std::string(1, c);
    return '"' + inside + '"';
  };
  const auto exact = [](double value) { return number_text("%.9g", value); };
  const auto line_of = [](const Cells& cells) {
    std::string line;
    for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
    return line + '\n';
  };

  std::string csv =
      "chapter,device,problem,step,kind,check,message,max_error,bound,flop,bytes,"
      "median_ms,low_ms,high_ms,repeats,of_vendor,of_bound,clock_mhz,"
      "registers,shared_bytes,local_bytes,occupancy,"
      "blocks,threads,global_load_bytes,global_store_bytes,shared_loads,shared_stores,barriers,"
      "warp_operations,atomics,load_requests,load_sectors,store_requests,store_sectors,"
      "shared_load_requests,shared_load_conflicts,shared_store_requests,shared_store_conflicts\n";
  const Result* vendor = vendor_of(results);
  for (const Result& result : results) {
    const char* kind = result.is_vendor ? "vendor" : result.is_stage ? "stage" : "step";
    Cells cells = {quoted(chapter),       quoted(device), quoted(problem),
                   quoted(result.name),   kind,           verdict_text(result.verdict),
                   quoted(result.message)};
    if (was_checked(result))
      cells.insert(cells.end(), {exact(result.max_error), exact(result.bound)});
    else
      cells.insert(cells.end(), 2, "");
    cells.insert(cells.end(), {exact(result.cost.flop), exact(result.cost.bytes)});
    if (result.time) {
      const Timing& time = *result.time;
      const bool has_vendor = vendor != nullptr && !result.is_stage;
      cells.insert(cells.end(),
                   {exact(time.median_ms), exact(time.low_ms), exact(time.high_ms),
                    std::to_string(time.repeats),
                    has_vendor ? exact(vendor->time->median_ms / time.median_ms) : "",
                    exact(result.bound_ms / time.median_ms), number_text("%.0f", time.clock_mhz)});
    } else {
      cells.insert(cells.end(), 7, "");
    }
    cells.insert(cells.end(), 4, "");
    if (result.work) {
      const Work& work = *result.work;
      const Counts& counts = result.counts;
      for (const int64_t count :
           {work.blocks, work.threads, work.global_load_bytes, work.global_store_bytes,
            work.shared_loads, work.shared_stores, work.barriers, work.warp_operations,
            work.atomics, counts.loads.requests, counts.loads.sectors, counts.stores.requests,
            counts.stores.sectors, counts.shared_loads.requests, counts.shared_loads.conflicts,
            counts.shared_stores.requests, counts.shared_stores.conflicts})
        cells.push_back(std::to_string(count));
    } else {
      cells.insert(cells.end(), 17, "");
    }
    csv += line_of(cells);
    if (result.is_vendor) continue;
    // What its kernels take, a line each, as far as it is known.
    for (const KernelProfile& kernel : result.kernels) {
      const Takes& takes = kernel.takes;
      if (takes.registers == 0) continue;
      cells = {quoted(chapter), quoted(device), quoted(problem), quoted(kernel.kernel), "kernel"};
      cells.insert(cells.end(), 13, "");
      cells.insert(cells.end(),
                   {std::to_string(takes.registers), std::to_string(takes.shared_bytes),
                    std::to_string(takes.local_bytes), exact(takes.occupancy),
                    std::to_string(takes.blocks), std::to_string(takes.blocks * takes.threads)});
      cells.insert(cells.end(), 15, "");
      csv += line_of(cells);
    }
  }
  return csv;
}

}  // namespace tutorial
