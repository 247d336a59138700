#include "common/simulator/check/coverage.hpp"

#include <algorithm>
#include <mutex>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/device/stream_order.hpp"
#include "common/simulator/world/symbols.hpp"

namespace simulator {
namespace {

constexpr size_t kLooks = 256;  // at the rest of an array, evenly spread

std::mutex mutex;
std::vector<std::string>& notes = *new std::vector<std::string>;  // read when the program ends

bool is_of_kernel(const Record& record) {
  return record.epoch != 0 && record.instruction != 0;
}

size_t count(const dim3& size) {
  return size_t{size.x} * size.y * size.z;
}

std::string note_of(const Allocation& all) {
  const size_t fours = all.bytes / 4;
  const auto cell = [&](size_t i) -> const Cell& { return global_cell(all.begin + 4 * i); };
  if (fours < 2 || all.begin % 4 != 0 || !is_of_kernel(cell(0).write) ||
      is_of_kernel(cell(fours - 1).write))
    return "";
  size_t written = 1, none = fours - 1;  // the end of what is written lies between the two
  while (written < none) {
    const size_t middle = written + (none - written) / 2;
    if (is_of_kernel(cell(middle).write))
      written = middle + 1;
    else
      none = middle;
  }
  const Record first = cell(0).write, last = cell(written - 1).write;
  const Operation launch = find_operation(first.epoch);
  const size_t threads = count(launch.grid) * count(launch.block);
  const bool is_one_to_one = first.epoch == last.epoch && first.block == 0 && first.thread == 0 &&
                             last.block + size_t{1} == count(launch.grid) &&
                             last.thread + size_t{1} == count(launch.block);
  if (!is_one_to_one || threads < 2 || 4 * written % threads != 0) return "";
  const size_t element = 4 * written / threads, rest = all.bytes - 4 * written;
  // More is no rounding: scratch memory, say.
  if (rest % element != 0 || rest / element >= count(launch.block)) return "";
  for (size_t look = 0; look <= kLooks; ++look) {
    const Cell& one = cell(written + (fours - 1 - written) * look / kLooks);
    if (is_of_kernel(one.write) || is_of_kernel(one.reads[0]) || is_of_kernel(one.reads[1]))
      return "";
  }
  const size_t elements = all.bytes / element;
  return "the " + std::to_string(threads) + " threads of " + launch.what + " wrote " +
         std::to_string(threads) + " of the " + std::to_string(elements) +
         " elements of an array  " +
         source_line_with_text(
             reinterpret_cast<const void*>(program_start() + last.instruction - 1)) +
         "\n  no thread came to the last " + std::to_string(elements - threads) +
         ": if they count, the grid has to be rounded up, (n + 255) / 256 blocks of 256 threads";
}

}  // namespace

void look_at_coverage(const Allocation& allocation) {
  if (!checks_are_on() || is_planning() || allocation.bytes == 0) return;
  const std::string note = note_of(allocation);
  const std::lock_guard lock(mutex);
  if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
    notes.push_back(note);
}

std::vector<std::string> coverage_notes() {
  const std::lock_guard lock(mutex);
  return notes;
}

}  // namespace simulator
