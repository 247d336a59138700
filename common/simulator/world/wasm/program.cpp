// The program's symbols and lines, out of tables that the compile chain has put into each kernel
// module (docs/site/browser/compile/sites.js). The page tells where a module lies.
#include "common/simulator/world/program.hpp"

#include <cstring>

#include "common/simulator/world/symbols.hpp"

extern "C" char __global_base, __heap_base;

namespace simulator {
namespace {

// The tables, as sites.js writes them. A row of zeros ends the first two.
struct VariableRow {
  uintptr_t address;
  size_t bytes;
  const char* name;
};
struct FunctionRow {
  uintptr_t address;  // in the table of functions
  const char* name;
};
struct PlaceRow {
  const char* file;
  int line;
};
struct Module {
  uintptr_t begin, bytes;
  const VariableRow* variables;
  const FunctionRow* functions;
  const PlaceRow* places;
  int count, first;  // of its places, whose numbers begin at `first`
};
std::vector<Module>& modules() {
  static auto& all = *new std::vector<Module>;
  return all;
}

}  // namespace

ProgramSymbols read_program_symbols() {
  ProgramSymbols symbols;
  size_t source = 0;
  for (const Module& module : modules()) {
    ++source;
    for (const VariableRow* row = module.variables; row->name; ++row)
      if (std::strncmp(row->name, "_ZZ", 3) == 0)
        symbols.variables.push_back({row->name, row->address, row->bytes, source});
    for (const FunctionRow* row = module.functions; row->name; ++row)
      symbols.functions.push_back({row->address, row->name, source});
  }
  return symbols;
}

// Without threads a thread-local variable is one like others.
unsigned char* thread_local_base() {
  return nullptr;
}
size_t thread_local_bytes() {
  return 0;
}

uintptr_t program_start() {
  return 0;
}
bool is_in_program(uintptr_t address) {
  const auto own = reinterpret_cast<uintptr_t>(&__global_base);
  if (address - own < reinterpret_cast<uintptr_t>(&__heap_base) - own) return true;
  for (const Module& module : modules())
    if (address - module.begin < module.bytes) return true;
  return false;
}

std::vector<SourcePlace> lines_of(const void* instruction) {
  const auto number = static_cast<int>(reinterpret_cast<uintptr_t>(instruction));
  for (const Module& module : modules())
    if (number >= module.first && number - module.first < module.count) {
      const PlaceRow& row = module.places[number - module.first];
      return {{row.file, row.line}};
    }
  return {};
}

}  // namespace simulator

extern "C" __attribute__((export_name("simulator_add_module"))) void simulator_add_module(
    uintptr_t begin, uintptr_t bytes, const simulator::VariableRow* variables,
    const simulator::FunctionRow* functions, const simulator::PlaceRow* places, int count,
    int first) {
  simulator::modules().push_back({begin, bytes, variables, functions, places, count, first});
}
