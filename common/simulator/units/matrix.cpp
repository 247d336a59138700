// The words of <ptx.h>. Which lane holds which element: PTX ISA, "Matrix Fragments for
// mma.m16n8k16", "… mma.m16n8k8", "ldmatrix"; the pictures are in common/kernel/mma.cuh.
#include "common/simulator/units/matrix.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/world/symbols.hpp"
#include "ptx.h"

namespace simulator {
namespace {

// This file is linked only where one of its words is used.
const bool is_here = has_matrix_operations = true;

}  // namespace

void come_together(const MatrixOperation& operation, void* part, const void* instruction) {
  RunningBlock* const running = current_block();
  if (running == nullptr) {
    std::fprintf(stderr, "%s was called outside a kernel.\n", operation.name);
    std::abort();
  }
  const SimulatorScope scope;
  running->matrix(operation, part, instruction);
}

float to_float_as_gpu(double sum) {
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffff) : static_cast<float>(sum);
}

namespace {

// ---- mma

struct Mma {
  float* c;
  const uint32_t* a;
  uint32_t b[2];
  const void* instruction;
};

constexpr uint32_t kAbsent = 0xffffffff;  // a register of a lane that does not take part: NaN

/// Elements of A and B as they lie in a register, and how many registers B's fragment is deep; A's
/// has twice as many.
struct Bfloat16 {
  static constexpr const char* kName = "mma_m16n8k16<__nv_bfloat16>()";
  static constexpr int kInRegister = 2, kRegisters = 2, kCapability = 80;
  static double element(uint32_t bits, int i) {
    return std::bit_cast<float>(i == 0 ? bits << 16 : bits & 0xffff0000);
  }
};
struct Half {
  static constexpr const char* kName = "mma_m16n8k16<__half>()";
  static constexpr int kInRegister = 2, kRegisters = 2, kCapability = 80;
  static double element(uint32_t bits, int i) {
    return static_cast<float>(__half::of_bits(bits >> 16 * i & 0xffff));
  }
};
struct HalfK8 : Half {
  static constexpr const char* kName = "mma_m16n8k8<__half>()";
  static constexpr int kRegisters = 1, kCapability = 75;
};
struct Tf32 {
  static constexpr const char* kName = "mma_m16n8k8_tf32()";
  static constexpr int kInRegister = 1, kRegisters = 2, kCapability = 80;
  static double element(uint32_t bits, int) {
    return std::bit_cast<float>(bits & ~uint32_t{0x1fff});
  }
};

std::string nth(const char* name, int i) {
  return name + std::to_string(i) + "]";
}

template <class Element>
void look_for_unwritten(RunningBlock& running, int lane, const Mma& part) {
  const auto report = [&](const std::string& what) {
    running.speak_for_lane(lane);
    running.checks->unwritten_register(Element::kName, what, part.instruction);
  };
  constexpr int REGISTERS = Element::kRegisters;
  for (int r = 0; r < 2 * REGISTERS; ++r)
    if (part.a[r] == kUnwritten) report(REGISTERS == 1 ? "a" + std::to_string(r) : nth("a[", r));
  for (int r = 0; r < 4; ++r)
    if (std::bit_cast<uint32_t>(part.c[r]) == kUnwritten) report(nth("c[", r));
  for (int r = 0; r < REGISTERS; ++r)
    if (part.b[r] == kUnwritten) report(REGISTERS == 1 ? "b" : "b" + std::to_string(r));
}

/// C += A·B. The products are exact; they and C are added up in double, and the sum is rounded to
/// fp32 once. (A tensor core cuts the terms of a sum off below the largest one's last bits: its
/// error is larger, and not specified.)
template <class Element>
void multiply(RunningBlock& running, const MatrixParts& parts) {
  constexpr int PER = Element::kInRegister, REGISTERS = Element::kRegisters;
  constexpr int HALF = 4 * PER, K = HALF * REGISTERS;
  if (running.trace) running.trace->multiplied(16 * 8 * K * (PER == 1 ? 2 : 1), false);
  double a[16][K], b[K][8], c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Mma*>(parts[static_cast<size_t>(lane)]);
    const int g = lane / 4, t = lane % 4;
    if (part && running.checks) look_for_unwritten<Element>(running, lane, *part);
    for (int e = 0; e < PER; ++e) {
      for (int r = 0; r < 2 * REGISTERS; ++r)
        a[g + 8 * (r % 2)][PER * t + e + HALF * (r / 2)] =
            Element::element(part ? part->a[r] : kAbsent, e);
      for (int r = 0; r < REGISTERS; ++r)
        b[PER * t + e + HALF * r][g] = Element::element(part ? part->b[r] : kAbsent, e);
    }
    for (int r = 0; r < 4; ++r)
      c[g + 8 * (r / 2)][2 * t + r % 2] = part ? part->c[r] : std::bit_cast<float>(kAbsent);
  }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < K; ++k)
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Mma*>(parts[static_cast<size_t>(lane)]);
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; part && r < 4; ++r)
      part->c[r] = to_float_as_gpu(c[g + 8 * (r / 2)][2 * t + r % 2]);
  }
}

template <class Element>
constexpr MatrixOperation kMma{Element::kName, Element::kCapability, multiply<Element>};

// ---- ldmatrix, stmatrix

struct Rows {
  uint32_t* registers;
  unsigned char* row;  // that this lane points to
  const void* instruction;
};

constexpr size_t kRow = 16;  // bytes: 8 elements of 16 bits

/// The row that a lane points to is read or written, in the checks and the profile as if the lane
/// did so itself.
void note_row(RunningBlock& running, const char* name, int lane, const Rows& part, bool is_store) {
  running.speak_for_lane(lane);
  const uintptr_t at = reinterpret_cast<uintptr_t>(part.row);
  const auto head = [&] {
    return "bounds in " + std::string(running.kernel()) + ", " +
           running.place(static_cast<uint32_t>(running.current()), running.block_number()) + "  " +
           source_line_with_text(static_cast<const char*>(running.with_callers(part.instruction)) -
                                 1) +
           "\n  ";
  };
  if (!running.is_shared(at))
    throw Fault(cudaErrorIllegalAddress,
                head() + name + " takes a row of shared memory, and this address is not in it\n" +
                    "  likely: a pointer to global memory or to a local variable was passed\n");
  if (at % kRow != 0)
    throw Fault(cudaErrorMisalignedAddress,
                head() + name + ": the row of lane " + std::to_string(lane) + " begins at " +
                    running.shared_name(at) + ", which is no multiple of 16 bytes\n" +
                    "  likely: a row's length or an offset is no multiple of 8 elements, or the "
                    "array is not aligned: __align__(16)\n");
  if (running.trace)
    running.trace->access(running.current(), running.call_before(part.instruction),
                          is_store ? Access::matrix_store : Access::matrix_load, at, kRow);
  if (running.checks)
    running.checks->shared_access(at, kRow, is_store ? AccessKind::write : AccessKind::read,
                                  part.instruction);
}

/// The element of 16 bits that lane 4·g + t holds, as half `e` of a register: where it lies in its
/// matrix.
template <bool TRANS>
size_t row_of(int lane, int e) {
  return static_cast<size_t>(TRANS ? 2 * (lane % 4) + e : lane / 4);
}
template <bool TRANS>
size_t column_of(int lane, int e) {
  return static_cast<size_t>(TRANS ? lane / 4 : 2 * (lane % 4) + e);
}

template <int COUNT, bool TRANS>
void load(RunningBlock& running, const MatrixParts& parts) {
  uint16_t elements[COUNT][8][8];
  for (int lane = 0; lane < 8 * COUNT; ++lane) {
    uint16_t* row = elements[lane / 8][lane % 8];
    std::memset(row, 0xff, kRow);
    const auto* part = static_cast<const Rows*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    note_row(running, "ldmatrix", lane, *part, false);
    std::memcpy(row, part->row, kRow);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Rows*>(parts[static_cast<size_t>(lane)]);
    for (int i = 0; part && i < COUNT; ++i) {
      const auto half = [&](int e) -> uint32_t {
        return elements[i][row_of<TRANS>(lane, e)][column_of<TRANS>(lane, e)];
      };
      part->registers[i] = half(1) << 16 | half(0);
    }
  }
}

template <int COUNT>
void store(RunningBlock& running, const MatrixParts& parts) {
  uint16_t elements[COUNT][8][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Rows*>(parts[static_cast<size_t>(lane)]);
    for (int i = 0; part && running.checks && i < COUNT; ++i)
      if (part->registers[i] == kUnwritten) {
        running.speak_for_lane(lane);
        running.checks->unwritten_register("stmatrix()", nth("from[", i), part->instruction);
      }
    for (int i = 0; i < COUNT; ++i)
      for (int e = 0; e < 2; ++e)
        elements[i][row_of<false>(lane, e)][column_of<false>(lane, e)] =
            static_cast<uint16_t>((part ? part->registers[i] : kAbsent) >> 16 * e);
  }
  for (int lane = 0; lane < 8 * COUNT; ++lane) {
    const auto* part = static_cast<const Rows*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    note_row(running, "stmatrix", lane, *part, true);
    std::memcpy(part->row, elements[lane / 8][lane % 8], kRow);
    running.settle();
  }
}

template <bool TRANS>
const MatrixOperation& load_of(int count) {
  static constexpr MatrixOperation one{"ldmatrix()", 75, load<1, TRANS>},
      two{"ldmatrix()", 75, load<2, TRANS>}, four{"ldmatrix()", 75, load<4, TRANS>};
  return count == 1 ? one : count == 2 ? two : four;
}
const MatrixOperation& store_of(int count) {
  static constexpr MatrixOperation one{"stmatrix()", 90, store<1>}, two{"stmatrix()", 90, store<2>},
      four{"stmatrix()", 90, store<4>};
  return count == 1 ? one : count == 2 ? two : four;
}

}  // namespace

#define SIMULATOR_MMA(name, element)                                 \
  void name(float* c, const uint32_t* a, uint32_t b0, uint32_t b1) { \
    Mma part{c, a, {b0, b1}, __builtin_return_address(0)};           \
    come_together(kMma<element>, &part, part.instruction);           \
  }
SIMULATOR_MMA(mma_bf16, Bfloat16)
SIMULATOR_MMA(mma_half, Half)
SIMULATOR_MMA(mma_tf32, Tf32)
void mma_half_k8(float* c, const uint32_t* a, uint32_t b) {
  Mma part{c, a, {b}, __builtin_return_address(0)};
  come_together(kMma<HalfK8>, &part, part.instruction);
}

void ldmatrix(uint32_t* to, const void* row, int count) {
  const void* const instruction = __builtin_return_address(0);
  Rows part{to, static_cast<unsigned char*>(const_cast<void*>(row)), instruction};
  come_together(load_of<false>(count), &part, instruction);
}
void ldmatrix_trans(uint32_t* to, const void* row, int count) {
  const void* const instruction = __builtin_return_address(0);
  Rows part{to, static_cast<unsigned char*>(const_cast<void*>(row)), instruction};
  come_together(load_of<true>(count), &part, instruction);
}
void stmatrix(void* row, const uint32_t* from, int count) {
  const void* const instruction = __builtin_return_address(0);
  Rows part{const_cast<uint32_t*>(from), static_cast<unsigned char*>(row), instruction};
  come_together(store_of(count), &part, instruction);
}

}  // namespace simulator
