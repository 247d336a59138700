// The program's ELF file, and what addr2line says of its debug information.
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
#include <mutex>
#include <string_view>

#include "common/simulator/world/program.hpp"
#include "common/simulator/world/symbols.hpp"

namespace simulator {
namespace {

// Its place in the symbol table and in memory gives the start of the thread-local storage.
thread_local constinit char marker = 0;
constexpr std::string_view kMarker = "_ZN9simulator12_GLOBAL__N_16markerE";

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

/// With the marker's offset in the thread-local storage.
struct Read {
  ProgramSymbols symbols;
  uintptr_t marker_offset = 0;
};
Read read() {
  const char* const image = map_program();
  const auto at = [&](size_t offset) { return image + offset; };
  Read result;
  bool marker_found = false;
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
        result.symbols.functions.push_back({table[i].st_value, name, source});
      if (type != STT_TLS || table[i].st_shndx == SHN_UNDEF) continue;
      if (name == kMarker) {
        result.marker_offset = table[i].st_value;
        marker_found = true;
      } else {
        result.symbols.variables.push_back({name, table[i].st_value, table[i].st_size, source});
      }
    }
  }
  if (!marker_found) {
    std::fputs("The simulator needs the program's symbol table: do not strip it.\n", stderr);
    std::exit(2);
  }
  return result;
}
const Read& once_read() {
  static const Read the_one = read();
  return the_one;
}

}  // namespace

ProgramSymbols read_program_symbols() {
  return once_read().symbols;
}

unsigned char* thread_local_base() {
  return reinterpret_cast<unsigned char*>(&marker) - once_read().marker_offset;
}
size_t thread_local_bytes() {
  return program().thread_local_bytes;
}

uintptr_t program_start() {
  return program().start;
}
bool is_in_program(uintptr_t address) {
  return address - program().begin < program().end - program().begin;
}

namespace {

/// addr2line as a child process that answers one address after the other: it reads the program's
/// debug information once.
class Addr2line {
 public:
  std::vector<SourcePlace> lines(uintptr_t offset) {
    const std::lock_guard lock(mutex_);
    if (started_by_ != getpid()) start();
    // Address 0, which nothing lies at, marks the end of the answer.
    char question[32];
    const int length = std::snprintf(question, sizeof question, "0x%zx\n0\n", offset);
    if (socket_ < 0 || send(socket_, question, static_cast<size_t>(length), MSG_NOSIGNAL) != length)
      return {};
    read_line();  // the address
    std::vector<SourcePlace> lines;
    while (socket_ >= 0) {
      // "/path/to/file.cu:41 (discriminator 3)", "??:0", "file.cu:?"; then the caller that has it
      // inlined
      const std::string line = read_line();
      if (line.starts_with("0x")) break;
      const size_t colon = line.rfind(':');
      const int number = colon == line.npos ? 0 : std::atoi(line.c_str() + colon + 1);
      if (number > 0) lines.push_back({line.substr(0, colon), number});
    }
    read_line();  // "??:0"
    return lines;
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
  int socket_ = -1;  // to the child
  pid_t started_by_ = 0;
};

}  // namespace

std::vector<SourcePlace> lines_of(const void* instruction) {
  static Addr2line addr2line;
  return addr2line.lines(reinterpret_cast<uintptr_t>(instruction) - program_start());
}

}  // namespace simulator
