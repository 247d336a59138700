#include "common/simulator/world/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace simulator {
namespace {

// Its place in the symbol table and in memory gives the start of the thread-local storage.
thread_local constinit char marker = 0;
constexpr std::string_view kMarker = "_ZN9simulator12_GLOBAL__N_16markerE";

// What the translator puts after each __shared__ array, with the array's name behind it.
constexpr std::string_view kGapName = "simulator_gap_after_";

// Beside an array of a class type, as of __nv_bfloat16, the compiler keeps whether it has begun.
constexpr std::string_view kGuard = "_ZGV";

struct Function {
  uintptr_t address;  // in the file
  const char* name;   // mangled
  size_t source;      // of one that is known in one source only
};

struct Symbols {
  std::vector<SharedArray> shared;
  uintptr_t begin = 0;  // of the arrays and the gaps between them
  std::vector<int16_t> owners;
  uintptr_t marker_offset = 0;
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

struct Program {
  uintptr_t start = 0, begin = 0, end = 0;  // where it was loaded; the addresses that it takes
  size_t thread_local_bytes = 0;
};
Program find_program() {
  Program program;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        Program& program = *static_cast<Program*>(result);
        program.start = info->dlpi_addr;
        program.begin = UINTPTR_MAX;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type == PT_TLS) program.thread_local_bytes = part.p_memsz;
          if (part.p_type != PT_LOAD) continue;
          program.begin = std::min(program.begin, info->dlpi_addr + part.p_vaddr);
          program.end = std::max(program.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
        }
        return 1;  // the first one is the program itself
      },
      &program);
  return program;
}
const Program& program() {
  static const Program the_program = find_program();
  return the_program;
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

/// The program's file; it stays where it is as long as the program runs.
const char* map_program() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  void* image = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0)
    image = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (image != MAP_FAILED) return static_cast<const char*>(image);
  std::fputs("The simulator cannot read its program's file through /proc/self/exe.\n", stderr);
  std::exit(2);
}

Symbols read_symbols() {
  const char* const image = map_program();
  const auto at = [&](size_t offset) { return image + offset; };
  Symbols symbols;
  bool marker_found = false;
  std::set<std::string> with_gap;
  Variables gaps, others;
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(at(0));
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(at(header->e_shoff));
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const char* names = at(sections[sections[s].sh_link].sh_offset);
    const auto* table = reinterpret_cast<const ElfW(Sym)*>(at(sections[s].sh_offset));
    size_t file_symbol = 0;  // before the local symbols of each source stands one of its name
    for (size_t i = 0; i < sections[s].sh_size / sizeof(ElfW(Sym)); ++i) {
      const int type = ELF64_ST_TYPE(table[i].st_info);
      const char* name = names + table[i].st_name;
      if (type == STT_FILE) file_symbol = i;
      const size_t source = ELF64_ST_BIND(table[i].st_info) == STB_LOCAL ? file_symbol : 0;
      if (type == STT_FUNC && table[i].st_value != 0)
        symbols.functions.push_back({table[i].st_value, name, source});
      if (type != STT_TLS || table[i].st_shndx == SHN_UNDEF) continue;
      if (name == kMarker) {
        symbols.marker_offset = table[i].st_value;
        marker_found = true;
      } else if (std::string_view(name).starts_with(kGuard)) {
        others.emplace_back(table[i].st_value, table[i].st_size);
      } else if (std::strstr(name, kGapName.data()) != nullptr) {
        with_gap.insert(array_before(name));
        gaps.emplace_back(table[i].st_value, table[i].st_size);
      } else if (is_shared_array(name)) {
        symbols.shared.push_back({name, table[i].st_value, table[i].st_size, source});
        continue;
      } else {
        others.emplace_back(table[i].st_value, table[i].st_size);
      }
    }
  }
  if (!marker_found) {
    std::fputs("The simulator needs the program's symbol table: do not strip it.\n", stderr);
    std::exit(2);
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

unsigned char* thread_local_base() {
  return reinterpret_cast<unsigned char*>(&marker) - symbols().marker_offset;
}

size_t thread_local_bytes() {
  return program().thread_local_bytes;
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
  const std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}
}  // namespace

std::string function_name(const void* address) {
  const Function* function = symbols().find(address);
  if (function == nullptr) return "";
  std::string name = demangled(function->name);
  // Of "void a::(anonymous namespace)::kernel<(int)4>(float*)" the last part, without casts.
  for (const std::string_view unwanted : {"(anonymous namespace)::", "(int)", "(unsigned int)"})
    for (size_t at; (at = name.find(unwanted)) != name.npos;) name.erase(at, unwanted.size());
  name = name.substr(0, name.find('('));
  const size_t arguments = std::min(name.find('<'), name.size());
  const size_t scope = name.rfind("::", arguments), space = name.rfind(' ', arguments);
  if (scope != name.npos) return name.substr(scope + 2);
  return space == name.npos ? name : name.substr(space + 1);
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
  // The parameters are the first ( that stands in no template argument and begins no namespace.
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  size_t begin = 0, end = 0;
  for (int depth = 0; end < name.size(); ++end) {
    if (name.compare(end, kUnnamed.size(), kUnnamed) == 0) end += kUnnamed.size();
    if (depth == 0 && name[end] == '(') break;
    depth += (name[end] == '<') - (name[end] == '>');
    if (depth == 0 && name[end] == ' ') begin = end + 1;  // behind what it returns
  }
  return name.substr(begin, end - begin);
}

uintptr_t program_start() {
  return program().start;
}
bool is_in_program(uintptr_t address) {
  return address - program().begin < program().end - program().begin;
}

namespace {

/// The words of compute capability 9.0.
bool is_hopper_word(const std::string& path) {
  for (const char* name : {"barrier", "cluster", "tma", "warpgroup", "wgmma"})
    if (path.ends_with(std::string("/common/kernel/") + name + ".cuh")) return true;
  return false;
}

/// addr2line as a child process that answers one address after the other: it reads the program's
/// debug information once.
class Addr2line {
 public:
  SourcePlace place(uintptr_t offset) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = places_.try_emplace(offset);
    if (is_new) known->second = ask(offset);
    return known->second;
  }

 private:
  void start() {
    started_by_ = getpid();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
    std::string words[] = {"addr2line", "-aie"};  // addresses, functions inlined there
    char* arguments[] = {words[0].data(), words[1].data(), program.data(), nullptr};
    pid_t child = 0;
    if (posix_spawnp(&child, "addr2line", &files, nullptr, arguments, environ) == 0)
      socket_ = ends[0];
    else
      close(ends[0]);
    close(ends[1]);
    posix_spawn_file_actions_destroy(&files);
  }

  SourcePlace ask(uintptr_t offset) {
    if (started_by_ != getpid()) start();
    // Address 0, which nothing lies at, marks the end of the answer.
    char question[32];
    const int length = std::snprintf(question, sizeof question, "0x%zx\n0\n", offset);
    if (socket_ < 0 || send(socket_, question, static_cast<size_t>(length), MSG_NOSIGNAL) != length)
      return {};
    read_line();  // the address
    SourcePlace first, best;
    while (socket_ >= 0) {
      // "/path/to/file.cu:41 (discriminator 3)", "??:0", "file.cu:?"; then the caller that has it
      // inlined
      const std::string line = read_line();
      if (line.starts_with("0x")) break;
      const size_t colon = line.rfind(':');
      const int number = colon == line.npos ? 0 : std::atoi(line.c_str() + colon + 1);
      if (number == 0) continue;
      const SourcePlace place{line.substr(0, colon), number};
      if (first.line == 0) first = place;
      // What __ldg(), std::max() and load4() do is the doing of the kernel that calls them.
      const bool is_library = place.path.starts_with("/usr/") ||
                              place.path.find("/simulator/include/") != place.path.npos ||
                              place.path.ends_with("/common/kernel/vector4.cuh") ||
                              place.path.ends_with("/common/kernel/async_copy.cuh") ||
                              place.path.ends_with("/common/kernel/mma.cuh") ||
                              is_hopper_word(place.path);
      if (best.line == 0 && !is_library) best = place;
    }
    read_line();  // "??:0"
    return best.line > 0 ? best : first;
  }

  /// The next line of the child's; "" when it is gone.
  std::string read_line() {
    std::string line;
    for (char c = 0; socket_ >= 0 && c != '\n';) {
      if (recv(socket_, &c, 1, 0) == 1) {
        line += c;
      } else {
        close(socket_);
        socket_ = -1;
      }
    }
    return line;
  }

  std::mutex mutex_;
  std::map<uintptr_t, SourcePlace> places_;
  int socket_ = -1;  // to the child
  pid_t started_by_ = 0;
};

}  // namespace

SourcePlace source_place(const void* instruction) {
  static Addr2line addr2line;
  return addr2line.place(reinterpret_cast<uintptr_t>(instruction) - program_start());
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
  return place.path.substr(place.path.rfind('/') + 1) + ":" + std::to_string(place.line) + "   " +
         text;
}

std::string source_line_with_text(const void* instruction) {
  return line_with_text(source_place(instruction));
}

}  // namespace simulator
