#include "common/simulator/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

namespace simulator {
namespace {

// Its place in the symbol table and in memory gives the start of the thread-local storage.
thread_local constinit char marker = 0;
constexpr std::string_view kMarker = "_ZN9simulator12_GLOBAL__N_16markerE";

struct Symbols {
  std::vector<SharedArray> shared;
  uintptr_t marker_offset = 0;
  std::map<uintptr_t, std::string> functions;  // by address in the file
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

uintptr_t load_address() {
  uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* base) {
        *static_cast<uintptr_t*>(base) = info->dlpi_addr;  // the first one is the program itself
        return 1;
      },
      &base);
  return base;
}

Symbols read_symbols() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  const auto at = [&](size_t offset) { return image.data() + offset; };
  Symbols symbols;
  bool marker_found = false;
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(at(0));
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(at(header->e_shoff));
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const char* names = at(sections[sections[s].sh_link].sh_offset);
    const auto* table = reinterpret_cast<const ElfW(Sym)*>(at(sections[s].sh_offset));
    for (size_t i = 0; i < sections[s].sh_size / sizeof(ElfW(Sym)); ++i) {
      const int type = ELF64_ST_TYPE(table[i].st_info);
      const char* name = names + table[i].st_name;
      if (type == STT_FUNC && table[i].st_value != 0) symbols.functions[table[i].st_value] = name;
      if (type != STT_TLS || table[i].st_shndx == SHN_UNDEF) continue;
      if (name == kMarker) {
        symbols.marker_offset = table[i].st_value;
        marker_found = true;
      } else if (is_shared_array(name)) {
        symbols.shared.push_back({name, table[i].st_value, table[i].st_size});
      }
    }
  }
  if (!marker_found) {
    std::fputs("The simulator needs the program's symbol table: do not strip it.\n", stderr);
    std::exit(2);
  }
  std::sort(symbols.shared.begin(), symbols.shared.end(),
            [](const SharedArray& a, const SharedArray& b) { return a.offset < b.offset; });
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

unsigned char* thread_local_base() {
  return reinterpret_cast<unsigned char*>(&marker) - symbols().marker_offset;
}

size_t static_shared_bytes(const void* kernel) {
  const auto found =
      symbols().functions.find(reinterpret_cast<uintptr_t>(kernel) - program_start());
  if (found == symbols().functions.end() || !found->second.starts_with("_Z")) return 0;
  const std::string prefix = "_ZZ" + found->second.substr(2) + "E";
  size_t bytes = 0;
  for (const SharedArray& array : shared_arrays())
    if (array.symbol.starts_with(prefix)) bytes += array.bytes;
  return bytes;
}

std::string function_name(const void* address) {
  const auto found =
      symbols().functions.find(reinterpret_cast<uintptr_t>(address) - program_start());
  if (found == symbols().functions.end()) return "";
  int status = 0;
  char* text = abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : found->second;
  std::free(text);
  // Of "void a::(anonymous namespace)::kernel<(int)4>(float*)" the last part, without casts.
  for (const std::string_view unwanted : {"(anonymous namespace)::", "(int)", "(unsigned int)"})
    for (size_t at; (at = name.find(unwanted)) != name.npos;) name.erase(at, unwanted.size());
  name = name.substr(0, name.find('('));
  const size_t arguments = std::min(name.find('<'), name.size());
  const size_t scope = name.rfind("::", arguments), space = name.rfind(' ', arguments);
  if (scope != name.npos) return name.substr(scope + 2);
  return space == name.npos ? name : name.substr(space + 1);
}

uintptr_t program_start() {
  static const uintptr_t start = load_address();
  return start;
}

namespace {

/// "/path/to/file.cu:41", or "".
std::string path_and_line(const void* instruction) {
  char command[96];
  std::snprintf(command, sizeof command, "addr2line -e /proc/%d/exe 0x%zx 2>/dev/null",
                static_cast<int>(getpid()),
                static_cast<size_t>(reinterpret_cast<uintptr_t>(instruction) - program_start()));
  std::string line;
  if (FILE* pipe = popen(command, "r")) {
    char text[512];
    if (std::fgets(text, sizeof text, pipe)) line = text;
    pclose(pipe);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  line = line.substr(0, line.find(" ("));  // " (discriminator 3)"
  return line.starts_with("??") || line.ends_with(":?") ? "" : line;
}

}  // namespace

std::vector<SourcePlace> source_places(const std::vector<const void*>& instructions) {
  std::vector<SourcePlace> places(instructions.size());
  constexpr size_t kAtOnce = 2000;  // a command line has an end
  for (size_t first = 0; first < places.size(); first += kAtOnce) {
    std::string command = "addr2line -e /proc/" + std::to_string(getpid()) + "/exe";
    const size_t end = std::min(first + kAtOnce, places.size());
    for (size_t i = first; i < end; ++i) {
      char offset[24];
      std::snprintf(
          offset, sizeof offset, " 0x%zx",
          static_cast<size_t>(reinterpret_cast<uintptr_t>(instructions[i]) - program_start()));
      command += offset;
    }
    FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) return places;
    char text[4096];
    for (size_t i = first; i < end && std::fgets(text, sizeof text, pipe); ++i) {
      const std::string line = text;
      const size_t colon = line.rfind(':');
      const int number = colon == line.npos ? 0 : std::atoi(line.c_str() + colon + 1);
      if (number > 0) places[i] = {line.substr(0, colon), number};
    }
    pclose(pipe);
  }
  return places;
}

std::string source_line(const void* instruction) {
  const std::string line = path_and_line(instruction);
  return line.substr(line.rfind('/') + 1);
}

std::string source_line_with_text(const void* instruction) {
  const std::string line = path_and_line(instruction);
  if (line.empty()) return "(no line is known)";
  const size_t colon = line.rfind(':');
  std::ifstream file(line.substr(0, colon));
  std::string text;
  for (int number = std::atoi(line.c_str() + colon + 1); number > 0; --number)
    if (!std::getline(file, text)) text.clear();
  text.erase(0, text.find_first_not_of(' '));
  return line.substr(line.rfind('/') + 1) + "   " + text;
}

}  // namespace simulator
