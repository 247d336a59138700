// What a page gives the simulator, and the machine's own registers.
#pragma once

#include <cstdint>
#include <functional>

namespace simulator {

/// The page knows a fiber by the address of what it runs.
using FiberBody = std::function<void()>;

// Why a fiber gave the control back: these, or a trap of the machine, as the signal that a process
// would get for it.
inline constexpr int kSuspended = 0, kLeft = -1;

extern "C" {
__attribute__((import_module("fibers"), import_name("resume"))) int fiber_resume(
    FiberBody* fiber, uintptr_t stack_end);
__attribute__((import_module("fibers"), import_name("suspend"))) void fiber_suspend(
    FiberBody* fiber, int why);
__attribute__((import_module("fibers"), import_name("pass"))) void fiber_pass(FiberBody* from,
                                                                              FiberBody* to,
                                                                              uintptr_t stack_end);
__attribute__((import_module("fibers"), import_name("abandon"))) void fiber_abandon(
    FiberBody* fiber);
// machine.s
void* stack_pointer();
void set_stack_pointer(void* to);
/// The number of the source place that the kernel module is at: it sets it before each call.
int simulator_place();
}

/// Is the code that runs a fiber's?
bool is_on_fiber();
/// Gives the control back for ever.
[[noreturn]] void leave_fiber();
/// On the resumer's stack, after kLeft or a trap (crashes.cpp).
[[noreturn]] void on_left(int why);

}  // namespace simulator
