// The instructions of inline PTX that the CPU backend has.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simulator {

struct PtxInstruction {
  /// Without its type and without the words that change nothing here; with its type where it is
  /// there for only that one.
  std::string name;
  /// A letter for each operand. What is written comes first: D of the instruction's type, A of the
  /// expression's. What is read: t of the instruction's type, w of that type without a sign, u, i
  /// and f of unsigned, int and float, b a predicate; p an address in the memory that the
  /// instruction names, s in shared memory, g in global.
  std::string operands;
  std::string
      types;  // that it is there for: i integers, f float and double, h halves, x their pairs
  std::string expression;  // $0, $1, …: what is read
};

struct PtxType {
  std::string_view name;
  char kind;  // as in PtxInstruction; b: a predicate
  std::string_view cpp;
};

/// Null if there is none with so many operands.
const PtxInstruction* ptx_instruction(const std::string& name, const PtxType* type,
                                      size_t operands);
const PtxType* ptx_type(std::string_view name);
/// The expression for %laneid, say; "" if there is none.
std::string_view ptx_register(std::string_view name);
/// What is to be used in place of an instruction that is not there.
std::string_view instead_of_ptx(std::string_view name);

}  // namespace simulator
