#include "common/simulator/device/stream_order.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

// A stream, as CUDA's handle points to it.
struct CUstream_st {
  uint32_t index;
};

namespace simulator {
namespace {

constexpr size_t kRemembered = 10000;  // operations; what is older counts as ended

struct Stream {
  bool is_blocking = true;
  uint32_t operations = 0;
  Clock clock;
};

std::mutex mutex;
std::vector<Stream> streams(1);  // the first is the default stream
Clock host;                      // what the host has waited for
uint32_t operations = 0;
std::deque<std::pair<uint32_t, uint32_t>> ended;  // of each operation: stream, number in it
std::deque<Operation>& remembered = *new std::deque<Operation>;  // also for a program's last words
std::atomic<bool> has_more = false;

void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

uint32_t index_of(cudaStream_t stream) {
  return stream == nullptr ? 0 : stream->index;
}

/// What has ended before the next operation of a stream begins.
Clock clock_of(uint32_t index) {
  Clock clock = streams[index].clock;
  join(clock, host);
  if (index == 0) {
    for (const Stream& other : streams)
      if (other.is_blocking) join(clock, other.clock);
  } else if (streams[index].is_blocking) {
    join(clock, streams[0].clock);
  }
  return clock;
}

uint32_t at(const Clock& clock, uint32_t index) {
  return index < clock.size() ? clock[index] : 0;
}

}  // namespace

Operation begin_operation(const std::string& what, cudaStream_t stream, dim3 grid, dim3 block) {
  const std::lock_guard lock(mutex);
  const uint32_t index = index_of(stream);
  Operation now{
      ++operations, what,  index == 0 ? "the default stream" : "stream " + std::to_string(index),
      grid,         block, clock_of(index)};
  for (uint32_t i = 0; i < streams.size(); ++i)
    now.after_all &= at(now.before, i) == streams[i].operations;
  Stream& on = streams[index];
  ++on.operations;
  on.clock = now.before;
  on.clock.resize(std::max<size_t>(on.clock.size(), index + 1));
  on.clock[index] = on.operations;
  ended.emplace_back(index, on.operations);
  remembered.push_back(now);
  if (ended.size() > kRemembered) {
    ended.pop_front();
    remembered.pop_front();
  }
  return now;
}

bool is_ordered(uint32_t number, const Operation& now) {
  if (now.after_all) return true;
  const std::lock_guard lock(mutex);
  const uint32_t oldest = operations - static_cast<uint32_t>(ended.size()) + 1;
  if (number < oldest) return true;
  const auto& [stream, in_stream] = ended[number - oldest];
  return in_stream <= at(now.before, stream);
}

Operation find_operation(uint32_t number) {
  const std::lock_guard lock(mutex);
  const uint32_t oldest = operations - static_cast<uint32_t>(remembered.size()) + 1;
  return number < oldest || number > operations ? Operation{} : remembered[number - oldest];
}

bool is_remembered(const std::string& what) {
  const std::lock_guard lock(mutex);
  for (const Operation& operation : remembered)
    if (operation.what == what) return true;
  return false;
}

bool has_streams() {
  return has_more;
}

cudaStream_t new_stream(bool is_blocking) {
  const std::lock_guard lock(mutex);
  has_more = true;
  streams.push_back({.is_blocking = is_blocking, .clock = {}});
  return new CUstream_st{static_cast<uint32_t>(streams.size() - 1)};
}
// What it had to do, it still does.
void delete_stream(cudaStream_t stream) {
  delete stream;
}

Clock record_event(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return clock_of(index_of(stream));
}
void wait_for_event(cudaStream_t stream, const Clock& event) {
  const std::lock_guard lock(mutex);
  join(streams[index_of(stream)].clock, event);
}
void host_waits(const Clock& event) {
  const std::lock_guard lock(mutex);
  join(host, event);
}
void host_waits(cudaStream_t stream) {
  host_waits(record_event(stream));
}
void host_waits_for_all() {
  const std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < streams.size(); ++i) join(host, clock_of(i));
}

}  // namespace simulator
