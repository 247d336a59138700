#include "common/simulator/world/symbols.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "common/simulator/world/call_stack.hpp"
#include "common/simulator/world/program.hpp"

namespace simulator {
namespace {

// What the translator puts after each __shared__ array, with the array's name behind it.
constexpr std::string_view kGapName = "simulator_gap_after_";

// Beside an array of a class type, as of __nv_bfloat16, the compiler keeps whether it has begun.
constexpr std::string_view kGuard = "_ZGV";

struct Symbols {
  std::vector<SharedArray> shared;
  uintptr_t begin = 0;  // of the arrays and the gaps between them
  std::vector<int16_t> owners;
  std::vector<bool> of_simulator;   // by offset
  std::vector<Function> functions;  // by address

  const Function* find(const void* address) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address) - program_start();
    const auto found =
        std::lower_bound(functions.begin(), functions.end(), at,
                         [](const Function& f, uintptr_t a) { return f.address < a; });
    return found == functions.end() || found->address != at ? nullptr : &*found;
  }
};

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// The thread_local variables of functions, except the libraries' own.
bool is_shared_array(std::string_view name) {
  return name.starts_with("_ZZ") &&
         !starts_with_any(name, {"_ZZNS", "_ZZSt", "_ZZN5Catch", "_ZZN3CLI", "_ZZN5boost",
                                 "_ZZN9__gnu_cxx", "_ZZN9simulator"});
}

/// Of "_ZZ6kernelPfE22simulator_gap_after_As" the array's symbol, "_ZZ6kernelPfE2As".
std::string array_before(std::string_view gap) {
  const size_t name = gap.rfind(kGapName);
  size_t number = name;
  while (std::isdigit(static_cast<unsigned char>(gap[number - 1]))) --number;
  const size_t length = std::strtoul(gap.data() + number, nullptr, 10) - kGapName.size();
  return std::string(gap.substr(0, number)) + std::to_string(length) +
         std::string(gap.substr(name + kGapName.size()));
}

/// (offset, bytes) of thread_local variables.
using Variables = std::vector<std::pair<uintptr_t, size_t>>;

/// Fills in `begin` and `owners`.
void find_owners(Symbols& symbols, const Variables& gaps, const Variables& others) {
  if (symbols.shared.empty()) return;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  const auto include = [&](uintptr_t offset, size_t bytes) {
    begin = std::min(begin, offset);
    end = std::max(end, offset + bytes);
  };
  for (const SharedArray& array : symbols.shared) include(array.offset, array.bytes);
  for (const auto& [offset, bytes] : gaps) include(offset, bytes);
  symbols.begin = begin;
  symbols.owners.assign(end - begin, kGap);
  const auto fill = [&](uintptr_t from, size_t bytes, int16_t owner) {
    for (uintptr_t at = std::max(from, begin); at < std::min(from + bytes, end); ++at)
      symbols.owners[at - begin] = owner;
  };
  for (const auto& [offset, bytes] : others) fill(offset, bytes, kOtherVariable);
  for (size_t i = 0; i < symbols.shared.size(); ++i)
    fill(symbols.shared[i].offset, symbols.shared[i].bytes, static_cast<int16_t>(i));
}

Symbols read_symbols() {
  ProgramSymbols program = read_program_symbols();
  Symbols symbols;
  symbols.functions = std::move(program.functions);
  std::set<std::string> with_gap;
  Variables gaps, others;
  for (const Variable& variable : program.variables) {
    const std::string_view name = variable.name;
    if (!name.starts_with(kGuard) && name.find(kGapName) != name.npos) {
      with_gap.insert(array_before(name));
      gaps.emplace_back(variable.offset, variable.bytes);
    } else if (is_shared_array(name)) {
      symbols.shared.push_back(
          {std::string(name), variable.offset, variable.bytes, variable.source});
    } else {
      others.emplace_back(variable.offset, variable.bytes);
      if (starts_with_any(name, {"_ZN9simulator", "_ZZN9simulator"})) {
        const size_t end = variable.offset + variable.bytes;
        symbols.of_simulator.resize(std::max(symbols.of_simulator.size(), end));
        std::fill_n(symbols.of_simulator.begin() + static_cast<ptrdiff_t>(variable.offset),
                    variable.bytes, true);
      }
    }
  }
  std::sort(symbols.shared.begin(), symbols.shared.end(),
            [](const SharedArray& a, const SharedArray& b) { return a.offset < b.offset; });
  std::stable_sort(symbols.functions.begin(), symbols.functions.end(),
                   [](const Function& a, const Function& b) { return a.address < b.address; });
  for (SharedArray& array : symbols.shared) array.declares_itself = with_gap.contains(array.symbol);
  find_owners(symbols, gaps, others);
  return symbols;
}

const Symbols& symbols() {
  static const Symbols the_symbols = read_symbols();
  return the_symbols;
}

}  // namespace

const std::vector<SharedArray>& shared_arrays() {
  return symbols().shared;
}

uintptr_t shared_begin() {
  return symbols().begin;
}
const std::vector<int16_t>& shared_owners() {
  return symbols().owners;
}

bool is_simulators_own(uintptr_t offset) {
  const std::vector<bool>& own = symbols().of_simulator;
  return offset < own.size() && own[offset];
}

size_t static_shared_bytes(const void* kernel) {
  const Function* function = symbols().find(kernel);
  if (function == nullptr) return 0;
  const std::string_view name = function->name;  // not mangled, if it is extern "C"
  const std::string prefix =
      "_ZZ" +
      (name.starts_with("_Z") ? std::string(name.substr(2))
                              : std::to_string(name.size()) + std::string(name)) +
      "E";
  size_t bytes = 0;
  for (const SharedArray& array : shared_arrays())
    // Of a function that all sources know the arrays may still be local to one.
    if ((function->source == 0 || array.source == function->source) &&
        array.symbol.starts_with(prefix))
      bytes += array.bytes;
  return bytes;
}

namespace {
std::string demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  // As GCC and CUDA's compiler write it; Clang's library does not part them.
  for (size_t at; (at = name.find(">>")) != name.npos;) name.insert(at + 1, 1, ' ');
  return name;
}

/// Of a demangled function where its name begins, behind what it returns, and where it ends: the
/// parameters are the first ( that stands in no template argument and begins no namespace.
std::pair<size_t, size_t> extent_of_name(const std::string& function) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  size_t begin = 0, end = 0;
  for (int depth = 0; end < function.size(); ++end) {
    if (function.compare(end, kUnnamed.size(), kUnnamed) == 0) end += kUnnamed.size();
    if (depth == 0 && function[end] == '(') break;
    depth += (function[end] == '<') - (function[end] == '>');
    if (depth == 0 && function[end] == ' ') begin = end + 1;
  }
  return {begin, end};
}
}  // namespace

std::string function_name(const void* address) {
  const Function* function = symbols().find(address);
  if (function == nullptr) return "";
  std::string name = demangled(function->name);
  // Of "void a::(anonymous namespace)::kernel<(int)4>(float*)" the last part, without casts.
  for (const std::string_view unwanted : {"(anonymous namespace)::", "(int)", "(unsigned int)"})
    for (size_t at; (at = name.find(unwanted)) != name.npos;) name.erase(at, unwanted.size());
  const auto [begin, end] = extent_of_name(name);
  name = name.substr(begin, end - begin);
  const size_t scope = name.rfind("::", name.find('<'));
  return scope == name.npos ? name : name.substr(scope + 2);
}

const void* function_around(const void* instruction) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(instruction) - program_start();
  const auto& functions = symbols().functions;
  const auto after = std::upper_bound(functions.begin(), functions.end(), at,
                                      [](uintptr_t a, const Function& f) { return a < f.address; });
  if (after == functions.begin()) return nullptr;
  return reinterpret_cast<const void*>(program_start() + std::prev(after)->address);
}

std::string kernel_name(const void* address, const char* written) {
  const std::string known = address == nullptr ? "" : function_name(address);
  return known.empty() ? written : known;
}

std::string scoped_function_name(const void* address) {
  const Function* function = symbols().find(address);
  if (function == nullptr) return "";
  std::string name = demangled(function->name);
  const auto rename = [&](std::string_view ours, std::string_view in_cuda) {
    for (size_t at; (at = name.find(ours)) != name.npos;) {
      name.replace(at, ours.size(), in_cuda);
      const size_t behind = at + in_cuda.size();
      if (name.compare(behind, 2, " >") == 0) name.erase(behind, 1);  // it parted two >
    }
  };
  rename("simulator::NarrowFloat<7, 8>", "__nv_bfloat16");
  rename("simulator::NarrowFloat<10, 5>", "__half");
  const auto [begin, end] = extent_of_name(name);
  return name.substr(begin, end - begin);
}

namespace {

/// The words of compute capability 9.0.
bool is_hopper_word(const std::string& path) {
  for (const char* name : {"barrier", "bulk", "cluster", "fp8", "tma", "warpgroup", "wgmma"})
    if (path.ends_with(std::string("/common/kernel/") + name + ".cuh")) return true;
  return false;
}

/// What __ldg(), std::max() and load4() do is the doing of the kernel that calls them.
bool is_library(const std::string& path) {
  return path.starts_with("/usr/") || path.find("/simulator/include/") != path.npos ||
         path.ends_with("/common/kernel/vector4.cuh") ||
         path.ends_with("/common/kernel/async_copy.cuh") ||
         path.ends_with("/common/kernel/mma.cuh") || is_hopper_word(path);
}

std::string name_of(const SourcePlace& line) {
  return line.path.substr(line.path.rfind('/') + 1) + ":" + std::to_string(line.line);
}

/// The lines of the program's own sources that led to an instruction, the kernel's last; at least
/// one, if any is known.
std::vector<SourcePlace> own_lines(const void* instruction) {
  static std::mutex mutex;
  static std::map<const void*, std::vector<SourcePlace>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(instruction);
  std::vector<SourcePlace>& own = found->second;
  if (!is_new) return own;
  std::vector<SourcePlace> all;
  for (const void* call : calls_that_led_to(instruction))
    for (const SourcePlace& line : lines_of(call)) all.push_back(line);
  std::copy_if(all.begin(), all.end(), std::back_inserter(own),
               [](const SourcePlace& line) { return !is_library(line.path); });
  if (own.empty() && !all.empty()) own.push_back(all.front());
  return own;
}

/// Which of its callers did it is what a function's own line cannot say. Of many the first two and
/// the kernel's line are enough.
std::string callers_of(const std::vector<SourcePlace>& lines, size_t place) {
  std::vector<std::string> names = {name_of(lines[place])};
  for (size_t i = place + 1; i < lines.size(); ++i)
    if (std::string name = name_of(lines[i]);
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  if (names.size() > 4) names.erase(names.begin() + 3, names.end() - 1);
  std::string text;
  for (size_t i = 1; i < names.size(); ++i) text += (i > 1 ? ", in " : "") + names[i];
  return text;
}

}  // namespace

SourcePlace source_place(const void* instruction) {
  const std::vector<SourcePlace> lines = own_lines(instruction);
  return lines.empty() ? SourcePlace{}
                       : SourcePlace{lines[0].path, lines[0].line, callers_of(lines, 0)};
}

SourcePlace source_place(const std::source_location& where, const void* instruction) {
  SourcePlace place = place_of(where);
  const std::vector<SourcePlace> lines = own_lines(instruction);
  for (size_t i = 0; i < lines.size() && place.callers.empty(); ++i)
    if (name_of(lines[i]) == name_of(place)) place.callers = callers_of(lines, i);
  return place;
}

std::vector<SourcePlace> source_places(const std::vector<const void*>& instructions) {
  std::vector<SourcePlace> places;
  for (const void* instruction : instructions) places.push_back(source_place(instruction));
  return places;
}

std::string line_with_text(const SourcePlace& place) {
  if (place.line == 0) return "(no line is known)";
  std::ifstream file(place.path);
  std::string text;
  for (int number = place.line; number > 0; --number)
    if (!std::getline(file, text)) text.clear();
  text.erase(0, text.find_first_not_of(" \t"));
  return name_of(place) + "   " + text +
         (place.callers.empty() ? "" : "   (called in " + place.callers + ")");
}

std::string source_line_with_text(const void* instruction) {
  return line_with_text(source_place(instruction));
}

}  // namespace simulator
