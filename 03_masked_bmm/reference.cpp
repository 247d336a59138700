// The CPU reference: the masks, their coarse forms, and the product in double.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "03_masked_bmm.hpp"
#include "common/data/npy.hpp"
#include "common/data/random.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

template <class Number>
Number parse_parameter(const std::string& kind, const std::string& what, Number low, Number high) {
  const std::string text = kind.substr(kind.find(':') + 1);
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= low && value <= high))
    throw Error("--mask \"" + kind + "\" needs after the colon " + what);
  return value;
}

Mask mask_from_file(const std::string& path, int64_t batch, int64_t M, int64_t N) {
  const Tensor file = read_npy(path);
  const std::vector<int64_t> shared = {M, N}, per_batch = {batch, M, N};
  if (file.shape != shared && file.shape != per_batch)
    throw Error("--mask: " + path + " has shape " + shape_text(file.shape) + "; it must be " +
                shape_text(shared) + " or " + shape_text(per_batch) +
                ", so change it or --batch, --m and --n");
  Mask mask;
  mask.per_batch = file.shape == per_batch;
  mask.keep.reserve(file.values.size());
  for (float value : file.values) {
    if (value != 0.0f && value != 1.0f)
      throw Error("--mask: " + path + " holds " + std::to_string(value) +
                  "; write 1 where the product is kept and 0 where it is filled");
    mask.keep.push_back(value == 1.0f);
  }
  return mask;
}

/// `count` draws, each true with probability `probability`.
std::vector<uint8_t> draw(int64_t count, double probability, uint64_t seed) {
  std::vector<uint8_t> drawn;
  drawn.reserve(count);
  for (float value : make_values({count}, Init::uniform, seed))  // in [-1, 1)
    drawn.push_back((value + 1.0) / 2.0 < probability);
  return drawn;
}

}  // namespace

Mask make_mask(const std::string& kind, int64_t batch, int64_t M, int64_t N, bool per_batch,
               uint64_t seed) {
  if (kind.ends_with(".npy")) return mask_from_file(kind, batch, M, N);

  const int64_t masks = per_batch ? batch : 1, shift = N - M;
  const int64_t size = element_count({masks, M, N});
  Mask mask{std::vector<uint8_t>(size), per_batch};

  // keep(m, i, j) decides element (i, j) of mask m.
  const auto fill_in = [&](auto keep) {
    for (int64_t m = 0, e = 0; m < masks; ++m)
      for (int64_t i = 0; i < M; ++i)
        for (int64_t j = 0; j < N; ++j) mask.keep[e++] = keep(m, i, j);
  };

  if (kind == "none") {
    fill_in([](int64_t, int64_t, int64_t) { return true; });
  } else if (kind == "causal") {
    fill_in([&](int64_t, int64_t i, int64_t j) { return j <= i + shift; });
  } else if (kind.starts_with("window:")) {
    const auto width = parse_parameter<int64_t>(kind, "how many columns a row keeps, at least 1", 1,
                                                std::numeric_limits<int64_t>::max());
    fill_in([&](int64_t, int64_t i, int64_t j) {
      const int64_t distance = i + shift - j;
      return distance >= 0 && distance < width;
    });
  } else if (kind.starts_with("random:")) {
    const auto kept = parse_parameter<double>(kind, "the share that is kept, 0 to 1", 0, 1);
    mask.keep = draw(size, kept, seed);
  } else if (kind.starts_with("blocks:")) {
    const auto kept = parse_parameter<double>(kind, "the share that is kept, 0 to 1", 0, 1);
    const int64_t down = ceil_div(M, BLOCK), across = ceil_div(N, BLOCK);
    const std::vector<uint8_t> blocks = draw(masks * down * across, kept, seed);
    fill_in([&](int64_t m, int64_t i, int64_t j) {
      return blocks[(m * down + i / BLOCK) * across + j / BLOCK];
    });
  } else {
    throw Error("--mask does not know \"" + kind +
                "\"; choose none, causal, window:W, random:P, blocks:P or FILE.npy");
  }
  return mask;
}

std::optional<Band> band_of(const std::string& kind, int64_t M, int64_t N) {
  const int64_t shift = N - M, beyond = M + N;  // no j - i lies beyond this
  if (kind == "none") return Band{-beyond, beyond};
  if (kind == "causal") return Band{std::min(-beyond, shift), shift};
  if (!kind.starts_with("window:")) return std::nullopt;
  const int64_t width = std::stoll(kind.substr(kind.find(':') + 1));
  return Band{shift - std::min(width, 2 * beyond + 1) + 1, shift};
}

std::vector<Kept> coarse_mask_reference(const Mask& mask, int64_t M, int64_t N, int64_t tile) {
  const int64_t masks = M * N == 0 ? 0 : static_cast<int64_t>(mask.keep.size()) / (M * N);
  std::vector<Kept> coarse;
  for (int64_t m = 0; m < masks; ++m) {
    for (int64_t row0 = 0; row0 < M; row0 += tile) {
      for (int64_t col0 = 0; col0 < N; col0 += tile) {
        int64_t elements = 0, kept = 0;
        for (int64_t i = row0; i < std::min(row0 + tile, M); ++i) {
          for (int64_t j = col0; j < std::min(col0 + tile, N); ++j) {
            elements += 1;
            kept += mask.keep[(m * M + i) * N + j] != 0;
          }
        }
        coarse.push_back(kept == 0 ? Kept::none : kept == elements ? Kept::all : Kept::some);
      }
    }
  }
  return coarse;
}

std::vector<uint64_t> mask_words_reference(const Mask& mask, int64_t M, int64_t N) {
  const int64_t down = ceil_div(M, PATCH), across = ceil_div(N, PATCH);
  const int64_t masks = M * N == 0 ? 0 : static_cast<int64_t>(mask.keep.size()) / (M * N);
  std::vector<uint64_t> words(masks * down * across);
  for (int64_t m = 0, e = 0; m < masks; ++m)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j, ++e)
        if (mask.keep[e] != 0)
          words[(m * down + i / PATCH) * across + j / PATCH] |= uint64_t{1}
                                                                << (i % PATCH * PATCH + j % PATCH);
  return words;
}

std::vector<BlockPlace> block_list_reference(const Mask& mask, int64_t M, int64_t N) {
  const std::vector<Kept> states = coarse_mask_reference(mask, M, N, BLOCK);
  const int64_t down = ceil_div(M, BLOCK), across = ceil_div(N, BLOCK);
  const auto count = static_cast<int64_t>(states.size());
  std::vector<BlockPlace> live, masked;
  for (int64_t b = 0; b < count; ++b)
    (states[b] == Kept::none ? masked : live)
        .push_back({static_cast<int32_t>(b / (down * across)),
                    static_cast<int32_t>(b / across % down), static_cast<int32_t>(b % across),
                    static_cast<int32_t>(states[b])});
  // At each place: a live block, if no more than their share stand before it.
  std::vector<BlockPlace> list;
  size_t lives = 0, others = 0;
  for (int64_t place = 0; place < count; ++place) {
    const bool is_live =
        lives < live.size() &&
        static_cast<int64_t>(lives) * count / static_cast<int64_t>(live.size()) == place;
    list.push_back(is_live ? live[lives++] : masked[others++]);
  }
  return list;
}

Expected masked_bmm_reference(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                              std::span<const float> B, std::span<const int64_t> rows) {
  const int64_t count = rows.empty() ? p.batch * p.M : static_cast<int64_t>(rows.size());
  Expected want{std::vector<double>(count * p.N), std::vector<double>(count * p.N)};
  const double gamma = gamma_bound(p.K);
  for (int64_t r = 0; r < count; ++r) {
    const int64_t row = rows.empty() ? r : rows[r];  // of batch·M
    const int64_t b = row / p.M, i = row % p.M;
    double* value = want.value.data() + r * p.N;
    double* bound = want.bound.data() + r * p.N;
    for (int64_t k = 0; k < p.K; ++k) {
      const double a = A[row * p.K + k];
      const float* b_row = B.data() + (b * p.K + k) * p.N;
      for (int64_t j = 0; j < p.N; ++j) {
        value[j] += a * b_row[j];
        bound[j] += std::abs(a * b_row[j]);
      }
    }
    const uint8_t* keep = mask.keep.data() + ((mask.per_batch ? b : 0) * p.M + i) * p.N;
    for (int64_t j = 0; j < p.N; ++j) {
      value[j] = keep[j] != 0 ? value[j] : p.fill;
      bound[j] = keep[j] != 0 ? bound[j] * gamma : 0.0;
    }
  }
  return want;
}

Skipped count_skipped(const MaskedBmm& p, std::span<const Kept> block_mask,
                      std::span<const Kept> thread_mask) {
  const int64_t blocks_down = ceil_div(p.M, BLOCK), blocks_across = ceil_div(p.N, BLOCK);
  const int64_t patches_down = ceil_div(p.M, PATCH), patches_across = ceil_div(p.N, PATCH);
  const int side = BLOCK / PATCH;      // threads along a block's side
  const int rows_of_warp = 32 / side;  // a warp is two rows of threads
  const int64_t times = p.mask_per_batch ? 1 : p.batch;

  Skipped skipped;
  int64_t block = 0;
  for (int64_t m = 0; m < p.masks(); ++m) {
    const auto works = [&](int64_t down, int64_t across) {
      return down < patches_down && across < patches_across &&
             thread_mask[(m * patches_down + down) * patches_across + across] != Kept::none;
    };
    for (int64_t block_row = 0; block_row < blocks_down; ++block_row) {
      for (int64_t block_col = 0; block_col < blocks_across; ++block_col) {
        skipped.blocks_in_all += times;
        if (block_mask[block++] == Kept::none) {
          skipped.blocks += times;
          continue;
        }
        for (int warp = 0; warp < side / rows_of_warp; ++warp) {
          int idle = 0;
          for (int t = warp * 32; t < (warp + 1) * 32; ++t)
            idle += !works(block_row * side + t / side, block_col * side + t % side);
          skipped.threads += times * idle;
          skipped.threads_in_all += times * 32;
          skipped.warps += times * (idle == 32);
          skipped.warps_in_all += times;
        }
      }
    }
  }
  return skipped;
}

}  // namespace tutorial
