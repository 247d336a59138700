#include "common/program/source_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "common/data/files.hpp"
#include "common/data/text.hpp"

namespace tutorial {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

struct Kind {
  const char* name;
  Traffic Counts::*traffic;
  bool is_shared;
};
constexpr Kind kKinds[] = {
    {"load", &Counts::loads, false},
    {"store", &Counts::stores, false},
    {"atomic", &Counts::atomics, false},
    {"shared load", &Counts::shared_loads, true},
    {"shared store", &Counts::shared_stores, true},
    {"shared atomic", &Counts::shared_atomics, true},
};

// A line is marked when at least this part of its traffic is in vain.
constexpr double kWaste = 0.25;

/// How many requests a GPU may count; "" when as many. It is no waste, so it has another mark.
std::string merged(const Traffic& traffic) {
  if (traffic.mergeable == 0) return "";
  return "  · " + count_text(traffic.requests - traffic.mergeable) +
         " requests if nvcc merges them (see ./learn sass)";
}

/// What is wasteful about it; "" when nothing is.
std::string remark(const Kind& kind, const Traffic& traffic) {
  const auto count = static_cast<double>(traffic.requests);
  std::string words;
  if (kind.is_shared) {
    const auto all = static_cast<double>(traffic.wavefronts);
    if (static_cast<double>(traffic.conflicts) >= kWaste * all)
      words = formatted("%.1f", (all - static_cast<double>(traffic.conflicts)) / count) +
              " passes would do without bank conflicts";
  } else if (32.0 * static_cast<double>(traffic.sectors) * (1 - kWaste) >=
             static_cast<double>(traffic.bytes)) {
    words = formatted("%.0f %%", 100.0 * static_cast<double>(traffic.bytes) /
                                     (32.0 * static_cast<double>(traffic.sectors))) +
            " of what is touched is asked for";
  }
  return words.empty() ? words : "  ▲ " + words;
}

// The heads of a row of figures. "each" is a request's share.
constexpr const char* kHeads = "               requests  lanes  each          asked → touched";
constexpr size_t kWidth = 64;

std::string figures(const Kind& kind, const Traffic& traffic) {
  const auto requests = static_cast<double>(traffic.requests);
  const auto pieces = static_cast<double>(kind.is_shared ? traffic.wavefronts : traffic.sectors);
  const std::string bytes = kind.is_shared
                                ? count_text(traffic.conflicts) + " conflicts"
                                : with_prefix(static_cast<double>(traffic.bytes), "B") + " → " +
                                      with_prefix(32.0 * static_cast<double>(traffic.sectors), "B");
  char row[160];
  std::snprintf(row, sizeof row, "%-13s %9s  %5.1f  %5.2f %-7s  %s", kind.name,
                count_text(traffic.requests).c_str(), static_cast<double>(traffic.lanes) / requests,
                pieces / requests, kind.is_shared ? "passes" : "sectors", bytes.c_str());
  return row;
}

/// A kind's figures, and what is said below them.
struct Row {
  std::string figures;
  std::vector<std::string> below = {};
};

std::vector<Row> rows_of(const Counts& counts) {
  std::vector<Row> rows;
  for (const Kind& kind : kKinds) {
    const Traffic& traffic = counts.*kind.traffic;
    if (traffic.requests == 0) continue;
    rows.push_back({figures(kind, traffic)});
    for (const std::string& words : {remark(kind, traffic), merged(traffic)})
      if (!words.empty()) rows.back().below.push_back(words);
  }
  const auto plain = [&](const char* name, int64_t count) {
    char row[64];
    std::snprintf(row, sizeof row, "%-13s %9s", name, count_text(count).c_str());
    if (count > 0) rows.push_back({row});
  };
  plain("barrier", counts.barriers);
  plain("warp op", counts.warp_operations);
  return rows;
}

std::string padded(const std::string& row) {
  return row + std::string(kWidth - std::min(kWidth, screen_width(row)), ' ');
}

/// One file's part of a kernel: from its first line with figures to its last, and in the kernel's
/// own file from the kernel's head on.
void print_source(const std::vector<ProfiledLine>& lines) {
  const std::vector<std::string> source = read_lines(lines[0].path);
  int first = lines.front().line;
  const int last = lines.back().line;
  for (int above = first; above > 0 && above > first - 40; --above) {
    if (static_cast<size_t>(above) > source.size()) break;
    if (source[static_cast<size_t>(above) - 1].find("__global__") == std::string::npos) continue;
    first = above;
    break;
  }
  std::cout << padded(kHeads) << " │ " << base_name(lines[0].path) << '\n';
  size_t next = 0;  // of the lines with figures, of which the last ends the loop
  for (int number = first; number <= last; ++number) {
    // A long stretch of lines without figures says nothing.
    if (lines[next].line > number + 12 && number > first + 6) {
      std::cout << padded("") << " │   …\n";
      number = lines[next].line - 3;
    }
    const std::string code = static_cast<size_t>(number) <= source.size()
                                 ? source[static_cast<size_t>(number) - 1]
                                 : std::string();
    char place[16];
    std::snprintf(place, sizeof place, "%4d  ", number);
    std::vector<Row> rows;
    if (lines[next].line == number) rows = rows_of(lines[next++].counts);
    std::cout << padded(rows.empty() ? "" : rows[0].figures) << " │ " << place << code << '\n';
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) std::cout << padded(rows[i].figures) << " │\n";
      for (const std::string& words : rows[i].below) std::cout << padded(words) << " │\n";
    }
  }
}

/// How far what was counted is from what the step should ask for.
void print_asked(const KernelProfile& profile, const std::vector<Asked>& asked) {
  const Asked* by = find_asked(asked, profile.kernel);
  if (by == nullptr) return;
  const auto compare = [&](const char* what, int64_t expected, int64_t counted) {
    std::cout << "  " << what << ": " << with_prefix(static_cast<double>(expected), "B")
              << " expected, counted " << with_prefix(static_cast<double>(counted), "B");
    if (expected > 0)
      std::cout << formatted(
          " (%+.1f %%)", 100 * (static_cast<double>(counted) / static_cast<double>(expected) - 1));
    std::cout << '\n';
  };
  std::cout << "asked of global memory\n";
  compare("loads", by->loads, profile.total.loads.bytes);
  compare("stores", by->stores, profile.total.stores.bytes);
}

}  // namespace

void print_profile(const std::string& title, const std::vector<KernelProfile>& profiles,
                   const std::vector<Asked>& asked) {
  std::cout << '\n' << title << '\n';
  if (profiles.empty()) std::cout << "no kernel of ours ran\n";
  for (const KernelProfile& profile : profiles) {
    std::cout << '\n'
              << profile.kernel << ", " << profile.launches
              << (profile.launches == 1 ? " launch\n" : " launches\n");
    for (size_t begin = 0, end; begin < profile.lines.size(); begin = end) {
      for (end = begin;
           end < profile.lines.size() && profile.lines[end].path == profile.lines[begin].path;)
        ++end;
      print_source({profile.lines.begin() + static_cast<long>(begin),
                    profile.lines.begin() + static_cast<long>(end)});
    }
    std::cout << "in all\n";
    for (const Row& row : rows_of(profile.total)) std::cout << row.figures << '\n';
    print_asked(profile, asked);
  }
  std::cout << std::flush;
}

namespace {

struct CsvCount {
  const char* head;
  int64_t (*of)(const Counts& counts);
};
constexpr CsvCount kCsvCounts[] = {
    {"load_requests", [](const Counts& c) { return c.loads.requests; }},
    {"load_sectors", [](const Counts& c) { return c.loads.sectors; }},
    {"store_requests", [](const Counts& c) { return c.stores.requests; }},
    {"store_sectors", [](const Counts& c) { return c.stores.sectors; }},
    {"shared_load_requests", [](const Counts& c) { return c.shared_loads.requests; }},
    {"shared_load_passes", [](const Counts& c) { return c.shared_loads.wavefronts; }},
    {"shared_load_conflicts", [](const Counts& c) { return c.shared_loads.conflicts; }},
    {"shared_store_requests", [](const Counts& c) { return c.shared_stores.requests; }},
    {"shared_store_passes", [](const Counts& c) { return c.shared_stores.wavefronts; }},
    {"shared_store_conflicts", [](const Counts& c) { return c.shared_stores.conflicts; }},
};

}  // namespace

std::string profile_csv_heads() {
  std::string line = "chapter,problem,step,kernel,launches";
  for (const CsvCount& count : kCsvCounts) line += std::string(",") + count.head;
  return line + '\n';
}

std::string profile_csv_lines(const std::string& chapter, const std::string& sizes,
                              const std::string& step, const std::vector<KernelProfile>& profiles) {
  std::string lines;
  for (const KernelProfile& kernel : profiles) {
    lines += chapter + ",\"" + sizes + "\",\"" + step + "\",\"" + kernel.kernel + "\"," +
             std::to_string(kernel.launches);
    for (const CsvCount& count : kCsvCounts) lines += "," + std::to_string(count.of(kernel.total));
    lines += '\n';
  }
  return lines;
}

}  // namespace tutorial
