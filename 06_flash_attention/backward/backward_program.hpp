// What the program of part backward is made of: its problem, the forward pass, what is checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "any_shape/any_shape.hpp"
#include "backward/precision.hpp"
#include "common/program/table.hpp"

namespace tutorial::flash_attention::backward {

/// The result: the rows of dq, then those of dk, then those of dv.
struct Gradients {
  int64_t queries, keys, HS;  // rows of dq, and of dk and dv; their length
  int64_t rows() const { return queries + 2 * keys; }
  template <class T>
  T* dk(T* all) const {
    return all + queries * HS;
  }
  template <class T>
  T* dv(T* all) const {
    return dk(all) + keys * HS;
  }
};

Gradients gradients_of(const Attention& shape);

/// Prints the problem, whose least work is five products of the visible pairs; q, k, v, out, dout
/// and lse read, dq, dk and dv written.
void announce(Table& table, const Attention& shape, int64_t workspace_bytes,
              Precision precision = Precision::fp32);

/// The forward pass: q_outer, which takes any head size that there is shared memory for, else
/// by_shape, which always has enough, but takes 256 at most.
any_shape::Launcher forward_pass;

/// What is right in some rows of dq, dk and dv: in all where the host can afford a reference.
struct Wanted {
  Attention shape;
  std::vector<int64_t> queries, keys;
  Reference of_rows;

  /// Of dq, dk and dv the one that is wrong; else the one with the largest error.
  Comparison compare(std::span<const float> got) const;
};
Wanted wanted(const Attention& shape, const HostTensors& at, uint64_t seed,
              Precision precision = Precision::fp32);

/// What the steps need in memory beside the tensors, for a line below the table.
std::string memory_text(const Attention& shape);

}  // namespace tutorial::flash_attention::backward
