# makes copies of step 9 with some text changed: v/<name>.cu
import os
step = open("src/06_flash_attention/tensor_cores/step9_head_sizes.cu").read()
words = open("src/06_flash_attention/tensor_cores/words.cuh").read()
only = "<16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256>"
V = {
 "d64_bc128": [("Bc = 64;", "Bc = D <= 64 ? 128 : 64;")],
 "d64_3blocks": [("BLOCKS_PER_SM = D <= 128 ? 2 : 1", "BLOCKS_PER_SM = D <= 64 ? 3 : D <= 128 ? 2 : 1")],
 "d64_bc96": [("Bc = 64;", "Bc = D <= 64 ? 96 : 64;")],
 "d256_bc32": [("Bc = 64;", "Bc = D > 192 ? 32 : 64;")],
 "d128_bc32": [("Bc = 64;", "Bc = D == 128 ? 32 : 64;")],
 "slack0": [("SLACK = 8", "SLACK = 0")],
 "tile_first": [("BlockOf block(shape, Br);", "BlockOf block(shape, Br);\n  { const int64_t nt = ceil_div(Tq, Br); const_cast<int64_t&>(block.head) = blockIdx.x / nt; const_cast<int64_t&>(block.kv_head) = block.head / shape.group(); const_cast<int64_t&>(block.i0) = (nt - 1 - blockIdx.x % nt) * Br; }")],
 "sections8": [("BlockOf block(shape, Br);", "BlockOf block(shape, Br);\n  { const int64_t nt = ceil_div(Tq, Br), H = shape.B * shape.NH, sec = blockIdx.x / (nt * 8), left = H - sec * 8 < 8 ? H - sec * 8 : 8, w = blockIdx.x - sec * nt * 8; const_cast<int64_t&>(block.head) = sec * 8 + w % left; const_cast<int64_t&>(block.kv_head) = block.head / shape.group(); const_cast<int64_t&>(block.i0) = (nt - 1 - w / left) * Br; }")],
 "late_copy": [("    if (j + 1 < tiles) begin_copy(j + 1);\n    if (j >= seen) continue;\n", "    if (j >= seen) { if (j + 1 < tiles) begin_copy(j + 1); continue; }\n"),
               ("#pragma unroll\n    for (int m = 0; m < TALL; ++m) {\n      if (j >= whole)", "    if (j + 1 < tiles) begin_copy(j + 1);\n#pragma unroll\n    for (int m = 0; m < TALL; ++m) {\n      if (j >= whole)")],
}
os.makedirs("v", exist_ok=True)
names = list(V)
for name, edits in V.items():
    s = step
    for a, b in edits:
        assert s.count(a) == 1, (name, a)
        s = s.replace(a, b)
    s = s.replace(only, "<64, 128, 256>").replace("void head_sizes(", f"void v_{name}(")
    open(f"v/{name}.cu", "w").write(s)
steps = ["fragments","swizzled","waits_in_order","short_softmax","tall_tiles","masks_at_edges","one_barrier","lazy_rescale","head_sizes","any_address"]
with open("v/list.hpp", "w") as f:
    f.write('#pragma once\n#include "tensor_cores/tensor_cores.hpp"\nnamespace tutorial::flash_attention::tensor_cores {\n')
    for n in names: f.write(f"Launcher v_{n};\n")
    f.write("struct V { const char* name; Launcher* f; };\ninline V everything[] = {" + ",".join(f'{{"{n}",{n}}}' for n in steps) + "," + ",".join(f'{{"v_{n}",v_{n}}}' for n in names) + "};\n}\n")
