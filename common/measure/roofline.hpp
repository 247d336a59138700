// How fast a problem could run at best (Williams, Waterman and Patterson, "Roofline", CACM 2009).
#pragma once

namespace tutorial {

/// What multiplies: the cores for fp32, or tensor cores for operands of a type.
enum class Arithmetic { fp32, tf32, fp16, bf16, fp8 };

/// The least work that any program for the problem must do.
struct Cost {
  double flop = 0;   // floating-point operations; a fused multiply-add counts as two
  double bytes = 0;  // global memory read and written at least: inputs once, outputs once
  Arithmetic arithmetic = Arithmetic::fp32;
  double intensity() const { return bytes > 0 ? flop / bytes : 0; }
};

/// What the device at hand reaches, measured: arithmetic and a device-to-device copy (bytes read
/// plus bytes written). For fp32 it is a kernel of nothing but multiply-adds. Tensor cores draw so
/// much power that a GPU lowers its clock, by how much depends on the numbers; so there it is
/// cuBLAS's product of two matrices of 8192 × 8192 normally distributed ones. Of numbers of 8 bits
/// it is twice that of bf16, as the data sheets say.
struct Ceiling {
  double flop_per_s = 0;
  double bytes_per_s = 0;
  double ridge() const { return flop_per_s / bytes_per_s; }  // FLOP a byte where the bounds meet
};

/// Measures both once and remembers them. Only on a backend that measures time.
const Ceiling& measured_ceiling(Arithmetic arithmetic = Arithmetic::fp32);

/// The shortest time that the ceilings allow, in milliseconds.
double bound_ms(const Cost& cost, const Ceiling& ceiling);
/// True when arithmetic, not memory, gives bound_ms.
bool bound_by_arithmetic(const Cost& cost, const Ceiling& ceiling);

}  // namespace tutorial
