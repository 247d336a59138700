#include "common/simulator/count/float_operations.hpp"

#ifdef __x86_64__
#include <dlfcn.h>

#include <cstring>
#include <map>

#include "common/simulator/world/symbols.hpp"

extern "C" const char __executable_start, etext;  // the linker's
#endif

namespace simulator {

#ifdef __x86_64__
namespace {

using Count = int32_t FloatOperations::*;

/// What the program calls of the C library, by its address.
const std::map<uintptr_t, Count>& functions() {
  static const std::map<uintptr_t, Count> all = [] {
    std::map<uintptr_t, Count> found;
    const auto add = [&](Count count, auto... names) {
      for (const char* const name : {names...})
        if (void* const at = dlsym(RTLD_DEFAULT, name))
          found[reinterpret_cast<uintptr_t>(at)] = count;
    };
    add(&FloatOperations::function, "expf", "exp2f", "exp10f", "logf", "log2f", "tanhf", "powf");
    add(&FloatOperations::compare, "fmaxf", "fminf");
    add(&FloatOperations::multiply, "fmaf");
    add(&FloatOperations::divide, "sqrtf");
    return found;
  }();
  return all;
}

bool is_code(const unsigned char* at) {
  const auto place = reinterpret_cast<uintptr_t>(at);
  return place >= reinterpret_cast<uintptr_t>(&__executable_start) &&
         place + 16 < reinterpret_cast<uintptr_t>(&etext);
}

/// Of a call (0xe8, then a distance).
const unsigned char* target(const unsigned char* code) {
  int32_t distance;
  std::memcpy(&distance, code + 1, sizeof distance);
  return code + 5 + distance;
}

/// A stub of the program jumps to where a slot of its table points: [endbr64] [bnd] jmp *slot.
uintptr_t behind_stub(const unsigned char* stub) {
  if (!is_code(stub)) return 0;
  if (std::memcmp(stub, "\xf3\x0f\x1e\xfa", 4) == 0) stub += 4;
  if (*stub == 0xf2) ++stub;
  if (stub[0] != 0xff || stub[1] != 0x25) return 0;
  int32_t distance;
  std::memcpy(&distance, stub + 2, sizeof distance);
  uintptr_t function;
  std::memcpy(&function, stub + 6 + distance, sizeof function);
  return function;
}

/// Which of them a scalar instruction is: 0xf3, perhaps a REX prefix, 0x0f, and this.
Count scalar(unsigned char code) {
  switch (code) {
    case 0x59:  // mulss
      return &FloatOperations::multiply;
    case 0x58:  // addss
    case 0x5c:  // subss
      return &FloatOperations::add;
    case 0x5d:  // minss
    case 0x5f:  // maxss
      return &FloatOperations::compare;
    case 0x51:  // sqrtss
    case 0x5e:  // divss
      return &FloatOperations::divide;
    default:
      return nullptr;
  }
}

}  // namespace
#endif

FloatOperations float_operations([[maybe_unused]] uint32_t call) {
  FloatOperations found;
#ifdef __x86_64__
  constexpr unsigned char kCall = 0xe8, kScalar = 0xf3;
  constexpr int kCallBytes = 5, kMost = 4096;  // no block of a kernel is longer
  const auto* at = reinterpret_cast<const unsigned char*>(program_start() + call) - kCallBytes + 1;
  if (*at != kCall) return found;
  const unsigned char* const next_block = target(at);
  at += kCallBytes;
  for (int i = 0; i < kMost && is_code(at); ++i, ++at) {
    if (*at == kCall) {
      if (target(at) == next_block) break;
      const auto function = functions().find(behind_stub(target(at)));
      if (function != functions().end()) ++(found.*function->second);
    } else if (*at == kScalar) {
      const unsigned char* code = at + 1;
      if ((*code & 0xf0) == 0x40) ++code;
      if (const Count count = *code == 0x0f ? scalar(code[1]) : nullptr) ++(found.*count);
    }
  }
#endif
  return found;
}

}  // namespace simulator
