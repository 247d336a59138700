#include "workspace.hpp"

#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention {

double workspace_bytes(const Attention& a) {
  const double heads = static_cast<double>(a.B) * static_cast<double>(a.NH);
  const double T = static_cast<double>(a.T);
  return 4 * (4 * static_cast<double>(a.B) * T * static_cast<double>(a.C) + 2 * heads * T * T) +
         48 * heads;
}

StageWorkspace::StageWorkspace(const Attention& a)
    : blas(a.precision()),
      q(a.elements()),
      k(a.elements()),
      v(a.elements()),
      preatt(a.scores()),
      att(a.scores()),
      vaccum(a.elements()),
      pointers(6 * a.heads()) {}

}  // namespace tutorial::unfused_attention
