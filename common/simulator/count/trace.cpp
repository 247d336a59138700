#include "common/simulator/count/trace.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <tuple>

#include "common/simulator/world/symbols.hpp"

namespace simulator {

// ---- A worker's traces

void Trace::begin_block(int threads, Recorder* recorder, bool sampled) {
  sampled_ = sampled;
  recorder_ = recorder;
  stored_.bytes = 0;
  partial_.clear();
  profiled_.blocks += 1;
  profiled_.threads += threads;
  for (Thread& thread : threads_) {
    thread.depth = 0;
    thread.trace.clear();  // of a launch that ended early
    thread.stored.clear();
  }
  threads_.resize(static_cast<size_t>(threads));
}

void Trace::access(int thread, uint32_t instruction, Access access, uintptr_t address,
                   size_t bytes) {
  settle();
  const bool is_store =
      access == Access::store || access == Access::shared_store || access == Access::matrix_store;
  const Stored stored = {thread, address, is_store && recorder_ ? bytes : 0};
  // A struct goes in pieces as large as a thread can move, 16 bytes at most.
  while (bytes > 0) {
    size_t piece = 16;
    while (piece > bytes || address % piece != 0) piece /= 2;
    add(thread, instruction, access, address, static_cast<uint8_t>(piece));
    address += piece;
    bytes -= piece;
  }
  stored_ = stored;  // after add(), which would read it too early
}

void Trace::keep_stored_value() {
  std::vector<uint8_t>& bytes = threads_[static_cast<size_t>(stored_.thread)].stored;
  const auto* begin = reinterpret_cast<const uint8_t*>(stored_.address);
  bytes.insert(bytes.end(), begin, begin + stored_.bytes);
  stored_.bytes = 0;
}

void Trace::barrier_passed(Where where) {
  for (size_t warp = 0; warp * 32 < threads_.size(); ++warp) walk(static_cast<int>(warp));
  ++profiled_.places[{where.file_name(), static_cast<int>(where.line())}].barriers;
  if (recorder_) recorder_->barrier(where);
}

void Trace::warp_passed(int warp, const WarpOperation& operation, bool all) {
  if (all) walk(warp);
  if (recorder_ && all) {
    recorder_->warp_operation(warp, operation);
  } else if (recorder_) {
    // Its lanes' accesses are walked through later, with those of the others: it stands among them.
    for (size_t lane = 0; lane < 32; ++lane) {
      if (!(operation.lanes >> lane & 1)) continue;
      Thread& thread = threads_[static_cast<size_t>(warp) * 32 + lane];
      const uint32_t after = thread.trace.empty() ? 0 : thread.trace.back().instruction;
      thread.trace.push_back({after, thread.depth, Access::warp_operation, 0, partial_.size()});
    }
    partial_.push_back(operation);
  }
  ++profiled_.places[{operation.place.path, operation.place.line}].warp_operations;
}

void Trace::walk(int warp) {
  const size_t first = static_cast<size_t>(warp) * 32;
  const size_t lanes = std::min<size_t>(32, threads_.size() - first);
  std::array<const Event*, 32> next{}, end{};
  std::array<size_t, 32> taken{};  // of the bytes that each lane stored
  for (size_t lane = 0; lane < lanes; ++lane) {
    const std::vector<Event>& trace = threads_[first + lane].trace;
    next[lane] = trace.data();
    end[lane] = trace.data() + trace.size();
  }
  for (;;) {
    const Event* behind = nullptr;
    const auto rank = [](const Event& event) {
      return std::tuple(-event.depth, event.instruction, event.access, event.bytes);
    };
    for (size_t lane = 0; lane < lanes; ++lane)
      if (next[lane] != end[lane] && (!behind || rank(*next[lane]) < rank(*behind)))
        behind = next[lane];
    if (behind == nullptr) break;
    const Event step = *behind;
    WarpRequest request;
    request.bytes = step.bytes;
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (next[lane] == end[lane] || rank(*next[lane]) != rank(step)) continue;
      request.lanes |= 1u << lane;
      request.address[lane] = next[lane]++->address;
    }
    if (recorder_ && step.access != Access::none) record(warp, step, request, taken);
    if (step.access != Access::none && step.access != Access::warp_operation)
      count(warp, step, request);
    if (sampled_ && step.access == Access::none) enter(step.instruction);
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    threads_[first + lane].trace.clear();
    threads_[first + lane].stored.clear();
  }
}

void Trace::record(int warp, const Event& step, const WarpRequest& request,
                   std::array<size_t, 32>& taken) {
  std::vector<uint8_t> stored;
  for (size_t lane = 0; lane < 32; ++lane) {
    if (!(request.lanes >> lane & 1)) continue;
    if (step.access == Access::warp_operation) {
      WarpOperation& operation = partial_[request.address[lane]];
      if (operation.lanes != 0) recorder_->warp_operation(warp, operation);
      operation.lanes = 0;
    } else if (step.access == Access::store || step.access == Access::shared_store ||
               step.access == Access::matrix_store) {
      const auto& bytes = threads_[static_cast<size_t>(warp) * 32 + lane].stored;
      const auto begin = bytes.begin() + static_cast<long>(taken[lane]);
      stored.insert(stored.end(), begin, begin + request.bytes);
      taken[lane] += request.bytes;
    }
  }
  if (step.access != Access::warp_operation)
    recorder_->request(warp, step.instruction, step.access, request, stored);
}

void Trace::enter(uint32_t block) {
  const auto [known, is_new] = arithmetic_.try_emplace(block);
  FloatOperations& here = known->second;
  if (is_new) here = float_operations(block);
  ++profiled_.steps;
  profiled_.arithmetic.products += std::max(here.multiply, here.add) + here.compare;
  profiled_.arithmetic.divisions += here.divide;
  profiled_.arithmetic.functions += here.function;
}

void Trace::touch(int warp, const Event& event, const WarpRequest& request) {
  Footprint& footprint = profiled_.footprint;
  if (event.access == Access::load || event.access == Access::part_copy_from)
    footprint.load(warp, request);
  else if (event.access == Access::copy_from)
    footprint.load_past_l1(request);
  else if (event.access == Access::store || event.access == Access::atomic)
    footprint.store(request);
}

void Trace::count(int warp, const Event& event, const WarpRequest& request) {
  if (event.access == Access::part_copy_to) return;
  if (sampled_) touch(warp, event, request);
  if (event.access == Access::shared_load) profiled_.merged.load(warp, event.instruction, request);
  const bool is_copy = event.access == Access::copy_from || event.access == Access::copy_to ||
                       event.access == Access::part_copy_from;
  tutorial::Traffic& traffic =
      profiled_.instructions[{is_copy ? Access::load : event.access, event.instruction}];
  if (event.access == Access::copy_to) {
    traffic.sectors += copy_sectors(copied_from_, request);
    return;
  }
  const int lanes = std::popcount(request.lanes);
  traffic.requests += 1;
  traffic.lanes += lanes;
  traffic.bytes += int64_t{lanes} * event.bytes;
  if (event.access == Access::copy_from) {
    copied_from_ = request;
  } else if (event.access == Access::load || event.access == Access::part_copy_from ||
             event.access == Access::store) {
    traffic.sectors += sectors(request);
  } else if (event.access == Access::atomic) {
    traffic.sectors += atomic_sectors(request);
  } else {
    const bool is_matrix =
        event.access == Access::matrix_load || event.access == Access::matrix_store;
    const Wavefronts wavefronts = is_matrix                             ? shared_rows(request)
                                  : event.access == Access::shared_load ? shared_load(request)
                                                                        : shared_store(request);
    traffic.wavefronts += wavefronts.all;
    traffic.conflicts += wavefronts.all - wavefronts.least;
  }
}

// ---- What all workers counted

namespace {

struct Kernel {
  std::string name;
  uint32_t last_launch = 0;
  int64_t launches = 0;
  Profiled profiled;
};
std::atomic<bool> wanted = false;
std::mutex mutex;
std::vector<Kernel> kernels;

tutorial::Traffic& part(tutorial::Counts& counts, Access access) {
  switch (access) {
    case Access::load:
      return counts.loads;
    case Access::store:
      return counts.stores;
    case Access::atomic:
      return counts.atomics;
    case Access::shared_load:
    case Access::matrix_load:
      return counts.shared_loads;
    case Access::shared_store:
    case Access::matrix_store:
      return counts.shared_stores;
    default:
      return counts.shared_atomics;
  }
}

std::vector<tutorial::ProfiledLine> by_line(const Profiled& profiled) {
  std::vector<const void*> instructions;
  for (const auto& [key, traffic] : profiled.instructions)
    instructions.push_back(reinterpret_cast<const void*>(program_start() + key.second));
  const std::vector<SourcePlace> sources = source_places(instructions);

  auto places = profiled.places;
  size_t i = 0;
  for (const auto& [key, traffic] : profiled.instructions) {
    const SourcePlace& source = sources[i++];
    part(places[{source.path, source.line}], key.first) += traffic;
  }
  std::vector<tutorial::ProfiledLine> lines;
  for (const auto& [place, counts] : places) lines.push_back({place.first, place.second, counts});
  return lines;
}

}  // namespace

tutorial::Counts total(const Profiled& profiled) {
  tutorial::Counts sum;
  sum.async_copies = profiled.async_copies;
  for (const auto& [key, traffic] : profiled.instructions) part(sum, key.first) += traffic;
  for (const auto& [place, counts] : profiled.places) sum += counts;
  return sum;
}

bool profiling() {
  return wanted;
}

void add_profile(const char* name, const void* address, uint32_t launch, const Profiled& profiled) {
  MergedLoads merged = profiled.merged;
  const std::string full = kernel_name(address, name);
  const std::lock_guard lock(mutex);
  auto kernel = std::find_if(kernels.begin(), kernels.end(),
                             [&](const Kernel& kernel) { return kernel.name == full; });
  if (kernel == kernels.end()) kernel = kernels.insert(kernel, Kernel{full, 0, 0, {}});
  if (kernel->last_launch != launch) ++kernel->launches;  // else another worker's part of it
  kernel->last_launch = launch;
  kernel->profiled.blocks += profiled.blocks;
  kernel->profiled.threads += profiled.threads;
  kernel->profiled.async_copies += profiled.async_copies;
  for (const auto& [key, traffic] : profiled.instructions)
    kernel->profiled.instructions[key] += traffic;
  for (const auto& [instruction, count] : merged.requests_by_instruction()) {
    const std::pair key = {Access::shared_load, instruction};
    kernel->profiled.instructions[key].mergeable += profiled.instructions.at(key).requests - count;
  }
  for (const auto& [place, counts] : profiled.places) kernel->profiled.places[place] += counts;
}

}  // namespace simulator

namespace tutorial {

void start_profile() {
  const std::lock_guard lock(simulator::mutex);
  simulator::kernels.clear();
  simulator::wanted = true;
}

std::vector<KernelProfile> take_profile(bool with_lines) {
  const std::lock_guard lock(simulator::mutex);
  simulator::wanted = false;
  std::vector<KernelProfile> profiles;
  for (const simulator::Kernel& kernel : simulator::kernels) {
    profiles.push_back({.kernel = kernel.name,
                        .launches = kernel.launches,
                        .blocks = kernel.profiled.blocks,
                        .threads = kernel.profiled.threads,
                        .total = simulator::total(kernel.profiled)});
    if (with_lines) profiles.back().lines = simulator::by_line(kernel.profiled);
  }
  simulator::kernels.clear();
  return profiles;
}

}  // namespace tutorial
