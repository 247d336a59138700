// nvcuda::wmma (include/mma.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/units/matrix.hpp"
#include "common/simulator/world/symbols.hpp"
#include "mma.h"

namespace simulator {
namespace {

size_t bytes_of(Fragment::Type type) {
  return type == Fragment::kFloat ? 4 : 2;
}

uint32_t bits_of(const Fragment& fragment, int i) {
  if (fragment.type == Fragment::kFloat) return static_cast<const uint32_t*>(fragment.x)[i];
  return static_cast<const uint16_t*>(fragment.x)[i];
}

double element(const Fragment& fragment, int i) {
  const uint32_t bits = bits_of(fragment, i);
  switch (fragment.type) {
    case Fragment::kHalf:
      return static_cast<float>(__half::of_bits(bits));
    case Fragment::kBfloat16:
      return static_cast<float>(__nv_bfloat16::of_bits(bits));
    default:
      return std::bit_cast<float>(bits);
  }
}

void set_element(const Fragment& fragment, int i, double value) {
  if (fragment.type == Fragment::kFloat)
    static_cast<float*>(fragment.x)[i] = to_float_as_gpu(value);
  else
    static_cast<__half*>(fragment.x)[i] = __half(value);
}

/// The fragment is cut into squares of 8 × 8 elements, of which lane 4·g + t holds 2t and 2t + 1 of
/// line g: the lines are rows or, of a fragment that lies in memory by columns, columns.
struct Place {
  int row, column;
};
int squares(const Fragment& fragment) {
  return fragment.rows * fragment.columns / 64;
}
Place place_of_element(const Fragment& fragment, int lane, int i) {
  const int lines = (fragment.row_major ? fragment.rows : fragment.columns) / 8;
  const int square = i / 2 % squares(fragment);
  const int line = square % lines * 8 + lane / 4;
  const int in_line = square / lines * 8 + 2 * (lane % 4) + i % 2;
  return fragment.row_major ? Place{line, in_line} : Place{in_line, line};
}

// ---- Loads and stores

struct Transfer {
  Fragment fragment;
  unsigned char* memory;
  unsigned stride;
  bool row_major;
  const void* instruction;
};

template <bool STORE>
constexpr const char* kTransferName = STORE ? "store_matrix_sync()" : "load_matrix_sync()";

/// In the checks and the profile as if the lane itself read or wrote.
template <bool STORE>
void note_access(RunningBlock& running, const Transfer& transfer, unsigned char* at, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  const bool is_shared = running.is_shared(address);
  const AccessKind kind = STORE ? AccessKind::write : AccessKind::read;
  if (!is_shared && !is_device_address(at)) {
    if (running.checks && !running.is_private(address))
      running.checks->foreign_access(address, bytes, kind, transfer.instruction);
    return;
  }
  const Access access = STORE ? (is_shared ? Access::shared_store : Access::store)
                              : (is_shared ? Access::shared_load : Access::load);
  if (running.trace)
    running.trace->access(running.current(), running.call_before(transfer.instruction), access,
                          address, bytes);
  if (!running.checks) return;
  if (is_shared)
    running.checks->shared_access(address, bytes, kind, transfer.instruction);
  else
    running.checks->global_access(address, bytes, kind, transfer.instruction);
}

/// What all lanes must have in common, and how memory must be aligned.
template <bool STORE>
void check_transfer(RunningBlock& running, int lane, const Transfer& transfer,
                    const Transfer& first) {
  const size_t size = bytes_of(transfer.fragment.type);
  const auto fault = [&](cudaError_t error, const std::string& what) {
    running.speak_for_lane(lane);
    throw Fault(
        error, "bounds in " + std::string(running.kernel()) + ", " +
                   running.place(static_cast<uint32_t>(running.current()), running.block_number()) +
                   "  " +
                   source_line_with_text(
                       static_cast<const char*>(running.with_callers(transfer.instruction)) - 1) +
                   "\n  " + kTransferName<STORE> + what);
  };
  if (transfer.memory != first.memory || transfer.stride != first.stride ||
      transfer.row_major != first.row_major)
    fault(cudaErrorLaunchFailure,
          ": the lanes of a warp give different addresses, strides or layouts\n"
          "  likely: the thread's number is in the address; the warp's is meant\n");
  if (reinterpret_cast<uintptr_t>(transfer.memory) % 32 != 0)
    fault(cudaErrorMisalignedAddress,
          ": the matrix begins at no multiple of 32 bytes\n"
          "  likely: an offset is no multiple of 16 elements, or the array is not aligned: "
          "__align__(32)\n");
  if (transfer.stride * size % 16 != 0)
    fault(cudaErrorMisalignedAddress, ": its rows lie " + std::to_string(transfer.stride) +
                                          " elements apart, which is no multiple of 16 bytes\n");
}

template <bool STORE>
void transfer(RunningBlock& running, const MatrixParts& parts) {
  const Transfer* first = nullptr;
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Transfer*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    if (first == nullptr) first = part;
    check_transfer<STORE>(running, lane, *part, *first);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Transfer*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    running.speak_for_lane(lane);
    const Fragment& fragment = part->fragment;
    const size_t size = bytes_of(fragment.type);
    auto* const x = static_cast<unsigned char*>(fragment.x);
    const int own = std::min<int>(fragment.elements, 2 * squares(fragment));
    // Two neighbours at once, where they are neighbours in memory, too.
    const int step = fragment.row_major == part->row_major ? 2 : 1;
    for (int i = 0; i < own; i += step) {
      const Place place = place_of_element(fragment, lane, i);
      const auto line = static_cast<size_t>(part->row_major ? place.row : place.column);
      const auto in_line = static_cast<size_t>(part->row_major ? place.column : place.row);
      unsigned char* const at = part->memory + (line * part->stride + in_line) * size;
      const size_t bytes = size * static_cast<size_t>(step);
      note_access<STORE>(running, *part, at, bytes);
      unsigned char* const element = x + static_cast<size_t>(i) * size;
      std::memcpy(STORE ? at : element, STORE ? element : at, bytes);
      running.settle();
    }
    // Those that several lanes hold.
    for (int i = own; !STORE && i < fragment.elements; ++i)
      std::memcpy(x + static_cast<size_t>(i) * size, x + static_cast<size_t>(i % own) * size, size);
  }
}

constexpr MatrixOperation kLoad{kTransferName<false>, 70, transfer<false>};
constexpr MatrixOperation kStore{kTransferName<true>, 70, transfer<true>};

// ---- mma_sync

struct Product {
  Fragment d, a, b, c;
  const void* instruction;
};

/// Elements of a matrix from the lanes that hold them; those of absent lanes are NaN.
template <class Of>
void gather(const MatrixParts& parts, double (&matrix)[32][32], const Of& of) {
  for (auto& row : matrix) std::fill(std::begin(row), std::end(row), std::nan(""));
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Product*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    const Fragment& fragment = of(*part);
    for (int i = 0; i < fragment.elements; ++i) {
      const Place place = place_of_element(fragment, lane, i);
      matrix[place.row][place.column] = element(fragment, i);
    }
  }
}

void look_for_unwritten(RunningBlock& running, int lane, const Product& part) {
  const std::pair<const Fragment*, const char*> operands[] = {
      {&part.a, "a"}, {&part.b, "b"}, {&part.c, "c"}};
  for (const auto& [fragment, name] : operands)
    for (int i = 0; i < fragment->elements; ++i) {
      const uint32_t unwritten =
          fragment->type == Fragment::kFloat ? kUnwritten : kUnwritten & 0xffff;
      if (bits_of(*fragment, i) != unwritten) continue;
      running.speak_for_lane(lane);
      running.checks->unwritten_register(
          "mma_sync()", std::string(name) + ".x[" + std::to_string(i) + "]", part.instruction);
    }
}

/// As mma (matrix.cpp): exact products, added up in double and rounded once.
void multiply(RunningBlock& running, const MatrixParts& parts) {
  double a[32][32], b[32][32], c[32][32];
  gather(parts, a, [](const Product& part) -> const Fragment& { return part.a; });
  gather(parts, b, [](const Product& part) -> const Fragment& { return part.b; });
  gather(parts, c, [](const Product& part) -> const Fragment& { return part.c; });
  const auto* any = static_cast<const Product*>(
      *std::find_if(parts.begin(), parts.end(), [](void* part) { return part != nullptr; }));
  if (running.trace)
    running.trace->multiplied(int64_t{any->d.rows} * any->a.columns * any->d.columns, false);
  for (int row = 0; row < any->d.rows; ++row)
    for (int k = 0; k < any->a.columns; ++k)
      for (int column = 0; column < any->d.columns; ++column)
        c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const Product*>(parts[static_cast<size_t>(lane)]);
    if (part == nullptr) continue;
    if (running.checks) look_for_unwritten(running, lane, *part);
    for (int i = 0; i < part->d.elements; ++i) {
      const Place place = place_of_element(part->d, lane, i);
      set_element(part->d, i, c[place.row][place.column]);
    }
  }
}

constexpr MatrixOperation kMultiply{"mma_sync()", 70, multiply};
constexpr MatrixOperation kMultiplyBfloat16{"mma_sync()", 80, multiply};

}  // namespace

void wmma_load(const Fragment& to, const void* from, unsigned stride, bool row_major) {
  Transfer part{to, static_cast<unsigned char*>(const_cast<void*>(from)), stride, row_major,
                __builtin_return_address(0)};
  come_together(kLoad, &part, part.instruction);
}
void wmma_store(void* to, const Fragment& from, unsigned stride, bool row_major) {
  Transfer part{from, static_cast<unsigned char*>(to), stride, row_major,
                __builtin_return_address(0)};
  come_together(kStore, &part, part.instruction);
}
void wmma_multiply(const Fragment& d, const Fragment& a, const Fragment& b, const Fragment& c) {
  Product part{d, a, b, c, __builtin_return_address(0)};
  come_together(a.type == Fragment::kBfloat16 ? kMultiplyBfloat16 : kMultiply, &part,
                part.instruction);
}

}  // namespace simulator
