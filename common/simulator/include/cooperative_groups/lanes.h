// Groups of lanes of one warp: tiles of a fixed size, and lanes that happen to run together.
#pragma once

#include "device_functions.h"

namespace simulator {

/// The lanes of a warp that `mask` names, the caller among them.
class Lanes {
 public:
  explicit Lanes(unsigned mask) : mask_(mask) {}
  /// The caller's of the tiles of `count` lanes.
  static Lanes tile(unsigned count) {
    return Lanes((count < 32 ? (1u << count) - 1 : ~0u)
                 << (static_cast<unsigned>(lane()) / count * count));
  }

  unsigned num_threads() const { return static_cast<unsigned>(std::popcount(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const { return rank_of(static_cast<unsigned>(lane())); }

  void sync(SIMULATOR_WHERE) const { warp_operation(WarpKind::sync, mask_, 0, 0, false, where); }
  template <class T>
  T shfl(T value, unsigned rank, SIMULATOR_WHERE) const {
    return from_rank(value, rank % num_threads(), where);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, SIMULATOR_WHERE) const {
    const unsigned rank = thread_rank();
    return from_rank(value, delta < num_threads() - rank ? rank + delta : rank, where);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, SIMULATOR_WHERE) const {
    const unsigned rank = thread_rank();
    return from_rank(value, delta <= rank ? rank - delta : rank, where);
  }

  int any(int predicate, SIMULATOR_WHERE) const { return __any_sync(mask_, predicate, where); }
  int all(int predicate, SIMULATOR_WHERE) const { return __all_sync(mask_, predicate, where); }
  /// A bit for each rank.
  unsigned ballot(int predicate, SIMULATOR_WHERE) const {
    return ranks_of(__ballot_sync(mask_, predicate, where));
  }
  template <class T>
  unsigned match_any(T value, SIMULATOR_WHERE) const {
    return ranks_of(match(mask_, value, where));
  }
  template <class T>
  unsigned match_all(T value, int& all, SIMULATOR_WHERE) const {
    const unsigned here = __ballot_sync(mask_, 1, where);
    all = match(mask_, value, where) == here;
    return all ? ranks_of(here) : 0;
  }

  /// The lanes of the group whose ranks `ranks` has.
  unsigned lanes_of(unsigned ranks) const {
    unsigned lanes = 0, rank = 0;
    for (unsigned left = mask_; left != 0; left &= left - 1, ++rank)
      if (ranks >> rank & 1) lanes |= left & -left;
    return lanes;
  }

 protected:
  template <class T>
  T from_rank(T value, unsigned rank, Where where) const {
    static_assert(std::is_trivially_copyable_v<T>, "a shuffle copies bytes");
    const int source = std::countr_zero(lanes_of(1u << rank));
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (size_t at = 0; at < sizeof(T); at += 8) {
      uint64_t word = 0;
      const size_t count = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
      std::memcpy(&word, bytes + at, count);
      word = warp_operation(WarpKind::shuffle, mask_, word, source, false, where);
      std::memcpy(bytes + at, &word, count);
    }
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  unsigned rank_of(unsigned lane) const {
    return static_cast<unsigned>(std::popcount(mask_ & ((1u << lane) - 1)));
  }
  unsigned ranks_of(unsigned lanes) const {
    unsigned ranks = 0;
    for (unsigned left = lanes; left != 0; left &= left - 1)
      ranks |= 1u << rank_of(static_cast<unsigned>(std::countr_zero(left)));
    return ranks;
  }

 private:
  unsigned mask_;
};

/// The lanes of the caller's warp that have come to this line, once no thread of the block can go
/// on otherwise: as many together as any GPU could bring.
unsigned converged_lanes(Where where);

}  // namespace simulator

namespace cooperative_groups {

class thread_block;

/// `N` threads of a block that lie side by side, `N` a power of two.
template <unsigned N, class Parent = void>
class thread_block_tile : public simulator::Lanes {
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads: larger ones are not on the CPU backend");

 public:
  thread_block_tile(unsigned meta_rank, unsigned meta_size)
      : Lanes(tile(N)), meta_rank_(meta_rank), meta_size_(meta_size) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<N, Other>& other)
      : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}

  static constexpr unsigned num_threads() { return N; }
  static constexpr unsigned size() { return N; }
  static unsigned thread_rank() { return static_cast<unsigned>(simulator::lane()) % N; }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  template <class T>
  T shfl_xor(T value, unsigned mask, SIMULATOR_WHERE) const {
    const unsigned rank = thread_rank() ^ mask;
    return from_rank(value, rank < N ? rank : thread_rank(), where);
  }

 private:
  unsigned meta_rank_, meta_size_;
};

class coalesced_group : public simulator::Lanes {
 public:
  explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : Lanes(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  coalesced_group tile(unsigned count) const {
    const unsigned first = thread_rank() / count * count;
    const unsigned ranks = (count < 32 ? (1u << count) - 1 : ~0u) << first;
    return coalesced_group(lanes_of(ranks), first / count, (num_threads() + count - 1) / count);
  }

 private:
  unsigned meta_rank_, meta_size_;
};

inline coalesced_group coalesced_threads(SIMULATOR_WHERE) {
  return coalesced_group(simulator::converged_lanes(where));
}

/// The part of a group with the caller's predicate, or label.
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, SIMULATOR_WHERE) {
  const unsigned with = group.lanes_of(group.ballot(predicate, where));
  const unsigned all = group.lanes_of(~0u);
  return coalesced_group(predicate ? with : all & ~with, predicate, 2);
}
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, SIMULATOR_WHERE) {
  return coalesced_group(group.lanes_of(group.match_any(label, where)));
}

}  // namespace cooperative_groups
