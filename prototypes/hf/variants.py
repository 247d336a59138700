import os, shutil
B128 = ".D=128,.BC=128,.WGS=2,.STAGES=2"
V = {
 "h128": B128, "h128_m0": B128+",.MODE=0", "h128_m1": B128+",.MODE=1", "h128_m3": B128+",.MODE=3",
 "h160": ".D=128,.BC=160,.WGS=2,.STAGES=2", "h176": ".D=128,.BC=176,.WGS=2,.STAGES=2", "h192": ".D=128,.BC=192,.WGS=2,.STAGES=2",
 "h112x2": ".D=128,.BC=112,.WGS=2,.STAGES=2", "h96x3": ".D=128,.BC=96,.WGS=2,.STAGES=3",
 "h128_nopp": B128+",.PP=false", "h128_noov": B128+",.OV=false", "h128_noboth": B128+",.PP=false,.OV=false", "h128_s1": B128+",.PP=false,.OV=false,.MODE=0",
 "h176_nopp": ".D=128,.BC=176,.WGS=2,.STAGES=2,.PP=false",
 "h128_direct": B128+",.DIRECT=true", "h128_lazy0": B128+",.LAZY=0", "h128_sec16": B128+",.SECTION_MB=16", "h128_sec64": B128+",.SECTION_MB=1000",
 "d64_3x128": ".D=64,.BC=128,.WGS=3,.STAGES=2", "d64_2x128": ".D=64,.BC=128,.WGS=2,.STAGES=2", "d64_2x192": ".D=64,.BC=192,.WGS=2,.STAGES=2", "d64_2x256": ".D=64,.BC=256,.WGS=2,.STAGES=2",
 "d64_3x112": ".D=64,.BC=112,.WGS=3,.STAGES=3", "d64_3x96": ".D=64,.BC=96,.WGS=3,.STAGES=3",
 "d64_3x128_nopp": ".D=64,.BC=128,.WGS=3,.STAGES=2,.PP=false",
 "d64_3x128_e4": ".D=64,.BC=128,.WGS=3,.STAGES=2,.EMU=4", "d64_3x128_e8": ".D=64,.BC=128,.WGS=3,.STAGES=2,.EMU=8", "d64_3x128_f4": ".D=64,.BC=128,.WGS=3,.STAGES=2,.EMU=-4", "d64_3x128_f8": ".D=64,.BC=128,.WGS=3,.STAGES=2,.EMU=-8",
 "d64_2x192_f4": ".D=64,.BC=192,.WGS=2,.STAGES=2,.EMU=-4", "d64_2x192_e4": ".D=64,.BC=192,.WGS=2,.STAGES=2,.EMU=4", "d64_2x192_nopp": ".D=64,.BC=192,.WGS=2,.STAGES=2,.PP=false", "d64_2x128_nopp": ".D=64,.BC=128,.WGS=2,.STAGES=2,.PP=false",
 "d96_2x128": ".D=96,.BC=128,.WGS=2,.STAGES=2", "d96_2x144": ".D=96,.BC=144,.WGS=2,.STAGES=2", "d96_2x176": ".D=96,.BC=176,.WGS=2,.STAGES=2", "d96_3x80": ".D=96,.BC=80,.WGS=3,.STAGES=2",
 "d192_2x96": ".D=192,.BC=96,.WGS=2,.STAGES=2", "d192_2x112": ".D=192,.BC=112,.WGS=2,.STAGES=2", "d192_2x112_nopp": ".D=192,.BC=112,.WGS=2,.STAGES=2,.PP=false",
 "d256_2x80": ".D=256,.BC=80,.WGS=2,.STAGES=2", "d256_2x80_nopp": ".D=256,.BC=80,.WGS=2,.STAGES=2,.PP=false", "d256_2x64": ".D=256,.BC=64,.WGS=2,.STAGES=2",
}
shutil.rmtree("v", ignore_errors=True); os.makedirs("v")
for n, o in V.items():
    open(f"v/{n}.cu", "w").write(f'#include "proto.cuh"\nnamespace tutorial::flash_attention::tensor_cores {{\nstruct X_{n} {{ static constexpr Opt opt{{{o}}}; }};\nvoid {n}(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) {{ launch<X_{n}>(s, q, k, v, out, lse); }}\n}}\n')
with open("v/list.hpp", "w") as f:
    f.write('#pragma once\n#include "tensor_cores/tensor_cores.hpp"\nnamespace tutorial::flash_attention::tensor_cores {\n')
    for n in V: f.write(f"Launcher {n};\n")
    f.write("struct V { const char* name; Launcher* f; };\ninline V everything[] = {" + ",".join(f'{{"{n}",{n}}}' for n in V) + "};\n}\n")
