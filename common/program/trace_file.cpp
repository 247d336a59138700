#include "common/program/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include "common/data/files.hpp"
#include "common/data/shape.hpp"
#include "common/data/text.hpp"
#include "common/program/options.hpp"
#include "common/program/row.hpp"

namespace tutorial {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;  // a tab, say
  }
  return out + '"';
}

/// Five digits, which a figure can show. JSON has no infinity and no NaN: they are strings.
std::string number(float value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return formatted("%.5g", static_cast<double>(value));
}
std::string number(int64_t value) {
  return std::to_string(value);
}

template <class T>
std::string list(std::span<const T> values) {
  std::string out;
  for (const T& value : values) out += (out.empty() ? "" : ",") + number(value);
  return "[" + out + "]";
}
template <class T>
std::string list(const std::vector<T>& values) {
  return list(std::span<const T>(values));
}

/// Lists that come more than once stand in the file once, in "lists", and have a number there.
class Lists {
 public:
  void see(const std::string& list) { ++times_[list]; }
  /// The list, or its number.
  std::string text(const std::string& list) {
    if (times_[list] < 2) return list;
    const auto [known, is_new] = numbers_.try_emplace(list, all_.size());
    if (is_new) all_.push_back(list);
    return std::to_string(known->second);
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, int> times_;
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> all_;
};

const char* name_of(TraceEvent::What what) {
  constexpr const char* names[] = {"load", "store", "atomic", "copy", "barrier", "warp"};
  return names[static_cast<size_t>(what)];
}

constexpr const char* kRoot = TUTORIAL_SOURCE_DIR "/";

/// "common/kernel/reduce.cuh"; a path elsewhere stays as it is. A compiler's cache may have made
/// the path relative to the folder that it compiled in.
std::string path_in_project(const std::string& path) {
  std::string inside = std::filesystem::path(path).lexically_normal();
  if (inside.starts_with(kRoot)) return inside.substr(std::strlen(kRoot));
  if (path.starts_with('/')) return path;
  while (inside.starts_with("../")) inside.erase(0, 3);
  return std::filesystem::exists(kRoot + inside) ? inside : path;
}

/// The key of a line: its number in the kernel's file, "tiles.cuh:20" in another.
std::string key_of(const TracedPlace& place, const std::string& kernel_file) {
  const std::string line = std::to_string(place.line), file = path_in_project(place.path);
  return file == kernel_file ? line : file + ":" + line;
}

std::string text_of(const TracedPlace& place) {
  const std::string path = path_in_project(place.path);
  const std::vector<std::string> lines = read_lines(path.starts_with('/') ? path : kRoot + path);
  const auto index = static_cast<size_t>(place.line) - 1;
  if (index >= lines.size()) return "";
  const size_t first = lines[index].find_first_not_of(" \t");
  return first == std::string::npos ? "" : lines[index].substr(first);
}

/// The lists of an event, each behind its name.
std::vector<std::pair<const char*, std::string>> lists_of(const TraceEvent& event) {
  std::vector<std::pair<const char*, std::string>> lists;
  if (event.what != TraceEvent::What::barrier) lists.push_back({"lanes", list(event.lanes)});
  if (event.array >= 0) lists.push_back({"elements", list(event.elements)});
  if (!event.values.empty()) lists.push_back({"values", list(event.values)});
  if (!event.from.empty()) lists.push_back({"from", list(event.from)});
  return lists;
}

std::string text_of(const TraceEvent& event, const std::string& line, Lists& lists) {
  std::string text = "{\"block\":" + std::to_string(event.block) +
                     ",\"warp\":" + (event.warp < 0 ? "null" : std::to_string(event.warp)) +
                     ",\"line\":" + line + ",\"what\":\"" + name_of(event.what) + '"';
  if (*event.operation != '\0') text += ",\"operation\":" + quoted(event.operation);
  if (event.array >= 0) text += ",\"array\":" + std::to_string(event.array);
  if (event.width > 1) text += ",\"width\":" + std::to_string(event.width);
  for (const auto& [name, list] : lists_of(event))
    text += std::string(",\"") + name + "\":" + lists.text(list);
  return text + "}";
}

std::string text_of(const TracedArray& array) {
  std::string text = "{\"name\":" + quoted(array.name) + ",\"space\":\"" +
                     (array.is_shared ? "shared" : "global") + "\",\"shape\":" + list(array.shape) +
                     ",\"element_bytes\":" + std::to_string(array.element_bytes) +
                     ",\"type\":" + quoted(array.type);
  if (array.is_shared) text += ",\"offset_bytes\":" + std::to_string(array.offset_bytes);
  return text + "}";
}

/// "[\n  a,\n  b\n]", with an item a line.
std::string lines_in(char open, const std::vector<std::string>& items, char close) {
  std::string text(1, open);
  for (const std::string& item : items) text += (text.size() > 1 ? ",\n" : "\n") + item;
  return text + '\n' + close;
}

}  // namespace

void give_shapes(LaunchTrace& trace, const Options& options, const void* output,
                 const std::vector<int64_t>& output_shape) {
  for (TracedArray& array : trace.arrays) {
    const auto is = [&](const void* memory, const std::vector<int64_t>& shape) {
      return !array.is_shared && memory != nullptr &&
             array.begin == reinterpret_cast<uintptr_t>(memory) && array.type == "float" &&
             array.shape[0] == element_count(shape);
    };
    if (is(output, output_shape)) array.shape = output_shape;
    for (const auto& input : options.inputs)
      if (is(input->copy(), input->shape())) array.shape = input->shape();
  }
}

std::string trace_text(const TraceHead& head, const LaunchTrace& trace) {
  const std::string path = path_in_project(trace.path);
  Lists lists;
  for (const TraceEvent& event : trace.events)
    for (const auto& [name, list] : lists_of(event)) lists.see(list);

  std::vector<std::string> keys, lines, arrays, events;
  for (const TracedPlace& place : trace.places) {
    const std::string key = key_of(place, path);
    keys.push_back(path_in_project(place.path) == path ? key : quoted(key));
    const std::string line = quoted(key) + ": " + quoted(text_of(place));
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  for (const TracedArray& array : trace.arrays) arrays.push_back(text_of(array));
  for (const TraceEvent& event : trace.events)
    events.push_back(text_of(event, keys[static_cast<size_t>(event.place)], lists));

  const auto text = [](const char* name, const std::string& value) {
    return '"' + std::string(name) + "\": " + value;
  };
  return lines_in(
             '{',
             {text("program", quoted(head.program)), text("step", quoted(head.step)),
              text("options", quoted(head.options)), text("seed", std::to_string(head.seed)),
              text("kernel", quoted(trace.kernel)), text("file", quoted(path)),
              text("grid", list(std::span<const int64_t>(trace.grid))),
              text("block", list(std::span<const int64_t>(trace.block))),
              text("lines", lines_in('{', lines, '}')), text("arrays", lines_in('[', arrays, ']')),
              text("lists", lines_in('[', lists.all(), ']')),
              text("events", lines_in('[', events, ']'))},
             '}') +
         '\n';
}

std::string words_of_trace(const std::vector<std::string>& words) {
  const std::set<std::string> dropped = {"--trace",       "--trace-kernel", "--kernel",
                                         "--seed",        "--output",       "--csv",
                                         "--profile-csv", "--sample-csv"};
  std::string text;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (dropped.contains(word))
      ++i;  // and its value
    else if (!dropped.contains(word.substr(0, word.find('='))))
      text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string why_no_trace(const std::string& step, const std::string& kernel,
                         const RunOutcome& outcome) {
  for (const Result& result : outcome.results)
    if (result.name == step && !was_checked(result))
      return step + (result.verdict == Verdict::failed ? " failed: " : " was not run: ") +
             result.message;
  if (outcome.trace.were_clusters)
    return "the blocks of " + step + " run in clusters, of which there is no trace yet";
  if (kernel.empty() || outcome.trace.others.empty())
    return step + " launches no kernel at these sizes";
  return "no kernel \"" + kernel + "\" was launched; " +
         did_you_mean(kernel, outcome.trace.others) + "--trace-kernel takes " +
         join(outcome.trace.others);
}

}  // namespace tutorial
