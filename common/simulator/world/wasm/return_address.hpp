// Included before each source of the simulator: code has no addresses here. In their place is the
// number of the source place that the kernel module is at, plus one, as a return address lies
// behind the call.
#pragma once

extern "C" int simulator_place();
#define __builtin_return_address(level) \
  (reinterpret_cast<void*>(static_cast<unsigned long>(simulator_place()) + 1))
