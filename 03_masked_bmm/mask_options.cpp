// Reads --mask and --fill, and makes the mask.
#include "mask_options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "common/data/npy.hpp"
#include "common/data/random.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::masked_bmm {
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

float parse_fill(const std::string& text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end)
    throw Error("--fill \"" + text + "\" is not a float32 number; give one like -1e4, -inf or nan");
  return value;
}

}  // namespace tutorial::masked_bmm
