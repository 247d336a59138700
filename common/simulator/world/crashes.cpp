#include "common/simulator/world/crashes.hpp"

#include <ucontext.h>

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <iterator>

#include "common/simulator/world/pages.hpp"

namespace simulator {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr size_t kStack = 64 * 1024;

void (*the_handler)(const Crash&) = nullptr;
struct sigaction before[std::size(kSignals)];

const void* instruction_of([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(context->uc_mcontext.pc);
#else
  return nullptr;
#endif
}
uintptr_t stack_of([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return context->uc_mcontext.sp;
#else
  return 0;
#endif
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const auto* where = static_cast<const ucontext_t*>(context);
  the_handler({signal, info->si_addr, instruction_of(where), stack_of(where)});
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

CrashGuard::CrashGuard(void (*handler)(const Crash&)) {
  the_handler = handler;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
}
CrashGuard::~CrashGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

struct WayOut::Place {
  sigjmp_buf jump;
};

WayOut::WayOut() : place_(std::make_unique<Place>()) {}
WayOut::~WayOut() = default;

bool WayOut::run(const std::function<void()>& body) {
  if (sigsetjmp(place_->jump, 1) != 0) return false;
  body();
  return true;
}
void WayOut::leave() {
  siglongjmp(place_->jump, 1);
}

CrashStack::CrashStack() : pages_(map_pages(kStack, "its threads' stacks")) {
  stack_t stack{};
  stack.ss_sp = pages_;
  stack.ss_size = kStack;
  sigaltstack(&stack, nullptr);
}
CrashStack::~CrashStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  unmap_pages(pages_, kStack);
}

}  // namespace simulator
