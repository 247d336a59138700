#include "common/data/shape.hpp"

#include "common/kernel/error.hpp"

namespace tutorial {

std::string shape_text(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "()";
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : "×") + std::to_string(extent);
  return text;
}

int64_t element_count(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 60;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) throw Error("the shape " + shape_text(shape) + " has a negative extent");
    if (extent == 0) return 0;
  }
  for (int64_t extent : shape) {
    if (extent > kMost / count)
      throw Error("the shape " + shape_text(shape) +
                  " has too many elements; choose smaller sizes");
    count *= extent;
  }
  return count;
}

}  // namespace tutorial
