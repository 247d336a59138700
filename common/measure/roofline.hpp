// How fast a problem could run at best (Williams, Waterman and Patterson, "Roofline", CACM 2009).
#pragma once

namespace tutorial {

/// The least work that any program for the problem must do.
struct Cost {
  double flop = 0;   // floating-point operations; a fused multiply-add counts as two
  double bytes = 0;  // global memory read and written at least: inputs once, outputs once
  double intensity() const { return bytes > 0 ? flop / bytes : 0; }
};

/// What the device at hand reaches, measured: fp32 arithmetic and a device-to-device copy (bytes
/// read plus bytes written).
struct Ceiling {
  double flop_per_s = 0;
  double bytes_per_s = 0;
  double ridge() const { return flop_per_s / bytes_per_s; }  // FLOP a byte where the bounds meet
};

/// Measures both once and remembers them. Only on a backend that measures time.
const Ceiling& measured_ceiling();

/// The shortest time that the ceilings allow, in seconds.
double bound_seconds(const Cost& cost, const Ceiling& ceiling);
/// True when arithmetic, not memory, gives bound_seconds.
bool bound_by_arithmetic(const Cost& cost, const Ceiling& ceiling);

}  // namespace tutorial
