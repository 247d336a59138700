#!/usr/bin/env python3
"""./learn sass: what it reads in nvcc's PTX and nvdisasm's SASS, and what it says. Other programs stand for these two;
where nvcc is, it compiles steps, too. The SASS here is written by hand, in nvdisasm's form."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tools")]
from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import machine_code  # noqa: E402
import project  # noqa: E402
import registers  # noqa: E402

NVCC = project.tool("nvcc")

# An outer loop (3 instructions of its own) around an inner one, whose load comes from a header.
NESTED = """\
	.headerflags	@"EF_CUDA_SM80"
.L_0:
        /*0000*/ 	.byte	0x04, 0x2f
//--------------------- .text._Z4rowsPf --------------------------
	.section	.text._Z4rowsPf,"ax",@progbits
        .global         _Z4rowsPf
_Z4rowsPf:
.text._Z4rowsPf:
	//## File "/p/a.cu", line 5
        /*0000*/                   MOV R1, c[0x0][0x28] ;        /* 0x00000a0000017a02 */
                                                                 /* 0x000fe40000000f00 */
        /*0010*/               @P0 EXIT ;
.L_x_1:
	//## File "/p/a.cu", line 6
        /*0020*/                   IADD3 R8, R8, 0x1, RZ ;
.L_x_0:
	//## File "/p/x/../b.cuh", line 30 inlined at "/p/a.cu", line 8
	//## File "/p/a.cu", line 8
        /*0030*/                   LDS.128 R4, [R2+0x10] ;
	//## File "/p/a.cu", line 9
        /*0040*/                   FFMA R0, R4, R5.reuse, R0 ;
        /*0050*/                   FFMA R0, R6, R7, R0 ;
	//## File "/p/a.cu", line 7
        /*0060*/               @P1 BRA `(.L_x_0) ;
	//## File "/p/b.cuh", line 40
        /*0070*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
	//## File "/p/a.cu", line 6
        /*0080*/              @!P2 BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
.L_x_2:
        /*00a0*/                   BRA `(.L_x_2);
        /*00b0*/                   NOP;
.L_x_9:
//--------------------- .text._Z5otherv --------------------------
.text._Z5otherv:
        /*0000*/                   EXIT ;
"""

# The wait for a barrier goes on behind the end, a shuffle of lanes that have parted as well, and comes back.
BEHIND_THE_END = """\
.text.wait:
        /*0000*/                   HFMA2.MMA R9, -RZ, RZ, 0, 0 ;
.L_x_3:
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x8], R9 ;
        /*0020*/              @!P0 BRA `(.L_x_7) ;
.L_x_4:
        /*0030*/                   WARPGROUP.ARRIVE ;
        /*0040*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*0050*/                   BRA.DIV UR6, `(.L_x_8) ;
        /*0060*/                   SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;
.L_x_5:
        /*0070*/                   BRA.U UP0, `(.L_x_3) ;
.L_x_6:
        /*0080*/                   FMUL R0, R0, R1 ;
        /*0090*/                   FMUL R0, R0, R1 ;
        /*00a0*/                   ISETP.NE.AND P3, PT, R0, RZ, PT ;
        /*00b0*/               @P3 BRA `(.L_x_6) ;
        /*00c0*/                   EXIT ;
.L_x_7:
        /*00d0*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x8], R9 ;
        /*00e0*/              @!P0 BRA `(.L_x_7) ;
        /*00f0*/                   BRA `(.L_x_4) ;
.L_x_8:
        /*0100*/                   WARPSYNC.COLLECTIVE R15, `(.L_x_10) ;
.L_x_10:
        /*0110*/                   SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;
        /*0120*/                   BRA `(.L_x_5) ;
.L_x_11:
        /*0130*/                   BRA `(.L_x_11);
"""

PTX = """\
.version 9.0
.target sm_80
.visible .entry _Z4rowsPf(
	.param .u64 _Z4rowsPf_param_0
)
.maxntid 128, 2, 1
{
	.reg .pred 	%p<3>;
	.loc	1 4 0
	ld.param.u64 	%rd1, [_Z4rowsPf_param_0];
	@%p2 bra 	$L__BB0_3;
$L__BB0_1:
	.loc	1 6 3
	add.s32 	%r1, %r1, 1;
$L__BB0_2:
	.loc	1 8 7
	.loc	2 30 3, function_name $L__info_string0, inlined_at 1 8 7
	.loc	3 12 1, function_name $L__info_string1, inlined_at 2 30 3
	ld.shared.v4.f32 	{%f1, %f2, %f3, %f4}, [%r2];
	.loc	1 9 7
	fma.rn.f32 	%f5, %f1, %f2, %f5;
	.loc	1 8 7
	// begin inline asm
	{
.reg .pred done;
mbarrier.try_wait.parity.shared::cta.b64 done, [%r14], %r5;
selp.u32 %r6, 1, 0, done;
}
	// end inline asm
	{ .reg .b64 %tmp;
	  cvt.u64.u32 	%tmp, %r75; }
	.loc	1 7 5
	@%p1 bra 	$L__BB0_2;
	bra.uni 	$L__BB0_4;
$L__BB0_4:
	.loc	2 44 3
	bar.sync 	0;
	.loc	1 6 3
	@!%p2 bra 	$L__BB0_1;
$L__BB0_3:
	ret;

}
	.file	1 "/p/a.cu"
	.file	2 "/p/./b.cuh"
	.file	3 "/p/c.cuh"
	.section	.debug_str
	{
$L__info_string0:
.b8 95
	}
"""


def texts(kernel, positions):
    return [machine_code.kind(kernel.instructions[at].text) for at in positions]


class Sass(unittest.TestCase):
    def test_instructions_and_their_lines(self):
        kernels = machine_code.parse_sass(NESTED, "/p/a.cu")
        self.assertEqual(list(kernels), ["_Z4rowsPf", "_Z5otherv"])
        found = kernels["_Z4rowsPf"].instructions
        self.assertEqual(len(found), 10)  # not the branch to itself
        self.assertEqual(found[1], ("@P0 EXIT", "/p/a.cu", 5))
        self.assertEqual(found[3], ("LDS.128 R4, [R2+0x10]", "/p/a.cu", 8))  # where the function is called
        self.assertEqual(found[4], ("FFMA R0, R4, R5.reuse, R0", "/p/a.cu", 9))
        self.assertEqual(found[7], ("BAR.SYNC.DEFER_BLOCKING 0x0", "/p/b.cuh", 40))
        self.assertEqual(kernels["_Z4rowsPf"].labels[".L_x_0"], 3)
        self.assertEqual(machine_code.parse_sass(NESTED, "/p/b.cuh")["_Z4rowsPf"].instructions[3][1:], ("/p/b.cuh", 30))

    def test_the_inner_loop(self):
        kernel = machine_code.parse_sass(NESTED, "/p/a.cu")["_Z4rowsPf"]
        outer, inner = machine_code.loops(kernel, True)
        self.assertEqual((outer.positions, outer.depth, outer.work), (list(range(2, 9)), 1, (0, 0)))
        self.assertEqual((inner.positions, inner.depth, inner.work), ([3, 4, 5, 6], 2, (0, 2)))
        self.assertIs(max(outer, inner, key=machine_code.weight), inner)
        self.assertEqual(machine_code.loops(machine_code.parse_sass(NESTED, "")["_Z5otherv"], True), [])

    def test_a_loop_with_parts_behind_the_end(self):
        kernel = machine_code.parse_sass(BEHIND_THE_END, "/p/a.cu")["wait"]
        products, rest, wait = machine_code.loops(kernel, True)
        self.assertEqual(products.work, (1, 0))
        self.assertEqual(texts(kernel, products.positions), [
            "SYNCS.PHASECHK.TRANS64.TRYWAIT", "BRA", "WARPGROUP.ARRIVE", "HGMMA.64x256x16.F32.BF16", "BRA.DIV",
            "SHFL.BFLY", "BRA.U", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "BRA", "BRA"])  # and no second shuffle
        self.assertEqual((texts(kernel, rest.positions), rest.work), (["FMUL", "FMUL", "ISETP.NE.AND", "BRA"], (0, 2)))
        self.assertEqual((len(wait.positions), wait.depth), (2, 2))
        self.assertIs(max(products, rest, wait, key=machine_code.weight), products)

    def test_where_a_branch_goes(self):
        for text, to, goes_on in (("BRA `(.L_x_1)", ".L_x_1", False), ("@!P0 BRA `(.L_x_1)", ".L_x_1", True),
                                  ("@P0 BRA P1, `(.L_x_1)", ".L_x_1", True), ("BRA.U !UP0, `(.L_x_1)", ".L_x_1", True),
                                  ("BSSY B0, `(.L_x_1)", None, True), ("CALL.REL.NOINC `($_Z1f)", None, True),
                                  ("EXIT", None, False), ("@P0 EXIT", None, True), ("RET.REL R2 `(f)", None, False),
                                  ("bra.uni $L__BB0_2", "$L__BB0_2", False), ("@%p1 bra $L__BB0_2", "$L__BB0_2", True),
                                  ("ret", None, False), ("retire.x", None, True)):
            self.assertEqual(machine_code.jump(text), (to, goes_on), text)

    def test_a_shorter_listing(self):
        kernel = machine_code.parse_sass(NESTED, "/p/a.cu")["_Z4rowsPf"]
        self.assertEqual(machine_code.listing(kernel, range(2, 9), "/p/a.cu", 1), [
            "   6", "         1  IADD3 R8, R8, 0x1, RZ", "         …  1 BRA", "   7", "         5  @P1 BRA `(.L_x_0)",
            "   8", "         2  LDS.128 R4, [R2+0x10]",
            "   9", "         3  FFMA R0, R4, R5.reuse, R0", "         …  1 FFMA",
            "b.cuh:40", "         6  BAR.SYNC.DEFER_BLOCKING 0x0"])

    def test_counts(self):
        kernel = machine_code.parse_sass(NESTED, "/p/a.cu")["_Z4rowsPf"]
        self.assertEqual(machine_code.counts(kernel.instructions)[:3], [("BRA", 2), ("EXIT", 2), ("FFMA", 2)])
        self.assertEqual(machine_code.shorter("wgmma {%f1, %f2, %f3, %f4}, %rd1"), "wgmma {%f1, %f2, %f3, %f4}, %rd1")
        many = ", ".join(f"%f{i}" for i in range(64))
        self.assertEqual(machine_code.shorter(f"wgmma {{{many}}}, %rd1"), "wgmma {%f0, %f1, …, %f63}, %rd1")


class Ptx(unittest.TestCase):
    def test_instructions_and_their_lines(self):
        kernel = machine_code.parse_ptx(PTX, "/p/a.cu")["_Z4rowsPf"]
        self.assertEqual(kernel.about, {"threads": 256})
        found = kernel.instructions
        self.assertEqual(found[0], ("ld.param.u64 %rd1, [_Z4rowsPf_param_0]", "/p/a.cu", 4))
        self.assertEqual(found[3], ("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r2]", "/p/a.cu", 8))
        self.assertEqual([one.text.split()[0] for one in found[4:9]],
                         ["fma.rn.f32", "mbarrier.try_wait.parity.shared::cta.b64", "selp.u32", "cvt.u64.u32", "@%p1"])
        self.assertEqual(found[10][1:], ("/p/b.cuh", 44))
        self.assertEqual(found[-1].text, "ret")
        self.assertEqual(machine_code.parse_ptx(PTX, "/p/c.cuh")["_Z4rowsPf"].instructions[3][1:], ("/p/c.cuh", 12))

    def test_the_inner_loop(self):
        kernel = machine_code.parse_ptx(PTX, "/p/a.cu")["_Z4rowsPf"]
        outer, inner = machine_code.loops(kernel, False)
        self.assertEqual((len(outer.positions), outer.work, inner.positions, inner.work),
                         (10, (0, 0), [3, 4, 5, 6, 7, 8], (0, 1)))

    def test_what_is_arithmetic(self):
        for text, of in (("fma.rn.f32 %f1", (0, 1)), ("max.f32 %f1", (0, 1)), ("ex2.approx.ftz.f32 %f1", (0, 1)),
                         ("add.s64 %rd1", (0, 0)), ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {", (1, 0)),
                         ("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {", (1, 0)),
                         ("wmma.load.a.sync.row.m16n16k16.bf16 {", (0, 0)), ("add.rn.f16x2 %r1", (0, 1))):
            self.assertEqual(machine_code.work([machine_code.Instruction(text, "", 1)], False), of, text)
        for text, of in (("@P0 FFMA R1, R2", (0, 1)), ("MUFU.EX2 R1, R2", (0, 1)), ("IMAD.MOV.U32 R1", (0, 0)),
                         ("HMMA.16816.F32.BF16 R1", (1, 0)), ("HFMA2.MMA R1, -RZ, RZ, 0, 0", (0, 0)),
                         ("FFMA2 R1, R2", (0, 1)), ("HFMA2.BF16_V2 R1, R2, R3, R4", (0, 1)), ("R2UR UR4", (0, 0))):
            self.assertEqual(machine_code.work([machine_code.Instruction(text, "", 1)], True), of, text)


class Occupancy(unittest.TestCase):
    def test_blocks_of_a_multiprocessor(self):
        for words, found in ((("90a", 128, 8320, 256), (2, "registers")), (("86", 32, 0, 1024), (1, "threads")),
                             (("75", 255, 0, 256), (1, "registers")), (("80", 32, 48 << 10, 128), (3, "shared memory")),
                             (("86", 16, 0, 32), (16, "blocks")), (("90a", 168, 0, 384), (1, "registers")),
                             (("80", 255, 0, 1024), (0, "registers"))):
            self.assertEqual(registers.most_blocks(*words), found, words)

    def test_the_simulator_has_the_same_limits(self):
        text = (PROJECT / "common/simulator/api/device_properties.cpp").read_text()
        largest = re.search(r"kSharedPerBlockOptin = (\d+) \* 1024",
                            (PROJECT / "common/simulator/device/device.hpp").read_text())
        text = text.replace("kSharedPerBlockOptin", f"{largest[1]} << 10")
        found = re.findall(r"\.capability = (\d+),\s*\.shared_per_block = (\d+) << 10,\s*\.shared_reserved = (\d+),\s*"
                           r"\.threads = (\d+),\s*\.blocks = (\d+)", text)
        limits = {name: (int(threads), int(blocks), (int(shared) << 10) + int(reserved), int(reserved))
                  for name, shared, reserved, threads, blocks in found}
        self.assertEqual(limits, {name.rstrip("a"): of for name, of in registers.LIMITS.items()})


STEP = """// Step {number}
#include "01_a.hpp"
// rows
__global__ void rows(float* A) {{
  if (A == nullptr) return;
  for (int i = 0; i < 4; ++i) {{
    for (int k = 0; k < 8; ++k) {{
      load(A);
      A[0] += 2 * A[1];  // twice
    }}
  }}
}}
"""
FAKE_NVCC = """#!/bin/sh
[ "$1" != --version ] || { echo 'release 13.0, V13.0.88'; exit; }
folder=/dev/null file=''
for word in "$@"; do
  [ "$before" != --keep-dir ] || folder=$word
  case $word in *.cu) file=$word ;; esac
  before=$word
done
if grep -q 'not C' "$file"; then echo "$file(1): error: not C++" >&2; exit 1; fi
stem=$(basename "$file" .cu)
sed "s|/p/a.cu|$file|" PTX > "$folder/$stem.ptx"
sed "s|/p/a.cu|$file|" SASS > "$folder/step.cubin"
cat >&2 <<END
ptxas info    : Compiling entry function '_Z4rowsPf' for 'sm_80'
ptxas info    : Function properties for _Z4rowsPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 8320 bytes smem
END
"""


class Command(Scratch):
    def setUp(self):
        super().setUp()
        chapter = self.root / "01_a"
        (chapter / "part").mkdir(parents=True)
        (chapter / "01_a.hpp").write_text("int in_header;\n")
        (chapter / "step1_rows.cu").write_text(STEP.format(number=1))
        (chapter / "step2_on_host.cpp").write_text("int x;\n")
        (chapter / "part/step1_hopper.cu").write_text('#include "common/kernel/wgmma.cuh"\n')
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in ("sh", "sed", "grep", "basename", "cat", "c++filt", "python3"):
            (self.bin / name).symlink_to(shutil.which(name))
        (self.root / "PTX").write_text(PTX)
        (self.root / "SASS").write_text(NESTED)

    def install(self, *names):
        texts = {"nvcc": FAKE_NVCC.replace("PTX", f"{self.root}/PTX").replace("SASS", f"{self.root}/SASS"),
                 "nvdisasm": '#!/bin/sh\ncat "$3"\n'}
        for name in names:
            (self.bin / name).write_text(texts[name])
            (self.bin / name).chmod(0o755)

    def run_tool(self, status, name, *words):
        env = {**os.environ, "PATH": str(self.bin), "CUDACXX": str(self.bin / "nvcc"), "COMMIT": "abc1234"}
        done = subprocess.run([sys.executable, self.root / "common/tools" / name, *words], capture_output=True,
                              text=True, env=env, cwd=self.root)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def sass(self, *words, status=0):
        return self.run_tool(status, "learn/sass.py", *words)

    def record(self, *words, status=0):
        return self.run_tool(status, "measure/record_sass.py", "--jobs", "1", *words)

    def test_sass_beside_its_lines(self):
        self.install("nvcc", "nvdisasm")
        self.assertEqual(self.sass("01", "rows", "--arch", "8.0"), """\
rows: SASS for 8.0
Its inner loop, lines 7–9: 4 of the kernel's 10 instructions, each with its place among them.
Its loops (--loop takes one): 1 lines 6–9, 2 lines 7–9 (this one).

   7  for (int k = 0; k < 8; ++k) {
         4  @P1 BRA `(.L_x_0)
   8  load(A);
         1  LDS.128 R4, [R2+0x10]
   9  A[0] += 2 * A[1];  // twice
         2  FFMA R0, R4, R5.reuse, R0
         3  FFMA R0, R6, R7, R0

2 FFMA, 1 BRA, 1 LDS.128; 50 % of the 4 instructions are FFMA.
64 registers a thread, none spilled; 8320 bytes of shared memory a block. Of blocks of 256 threads 4 find a place on a \
multiprocessor: 50 % of its threads, for want of registers.
""")
        outer = self.sass("01", "1", "--arch", "sm_80", "--loop", "1")
        self.assertIn("1 lines 6–9 (this one), 2 lines 7–9.", outer)
        self.assertIn("b.cuh:40\n         6  BAR.SYNC.DEFER_BLOCKING 0x0\n", outer)
        whole = self.sass("01", "1", "--arch", "80", "--all")
        self.assertIn("The whole kernel.\n", whole)
        self.assertIn("        10  EXIT\n", whole)

    def test_ptx_where_there_is_no_nvdisasm(self):
        self.install("nvcc")
        said = self.sass("01", "rows", "--arch", "80")
        self.assertTrue(said.startswith("There is no nvdisasm here, so this is PTX: for SASS install "
                                        "cuda-nvdisasm-13-0, or the whole toolkit.\n\nrows: PTX for 8.0\n"), said)
        self.assertIn("   9  A[0] += 2 * A[1];  // twice\n         2  fma.rn.f32 %f5, %f1, %f2, %f5\n", said)
        self.install("nvdisasm")
        self.assertTrue(self.sass("01", "rows", "--arch", "80", "--ptx").startswith("rows: PTX for 8.0\n"))

    def test_the_record(self):
        self.install("nvcc", "nvdisasm")
        self.record("--kind", "sass,ptx", "--arch", "80,86")
        path = self.root / "docs/results/sass/01_a/step1_rows.txt"
        self.assertEqual(re.findall("^== (.*) of", path.read_text(), re.M), ["sass 86", "sass 80", "ptx 86", "ptx 80"])
        data = json.loads(self.sass("--json"))
        self.assertEqual([(source, [arch for arch, *_ in each]) for source, each in data.items()],
                         [("01_a/step1_rows.cu", ["8.6", "8.0"])])
        anew = self.sass("01", "rows", "--arch", "80")
        self.assertTrue(anew.startswith(data["01_a/step1_rows.cu"][1][2]))
        for gone, why in (("nvdisasm", "There is no nvdisasm here"), ("nvcc", "There is no nvcc here")):
            (self.bin / gone).unlink()
            said = self.sass("01", "rows", "--arch", "80")
            self.assertRegex(said, rf"^{why}, so this is the record for 8.0, made by CUDA 13.0, \d{{4}}-\d\d-\d\d, "
                                   "at commit abc1234.\n")
            self.assertEqual(said.split("\n\n", 1)[1], anew)
        self.assertIn("PTX for 8.6", self.sass("01", "rows", "--arch", "86", "--ptx"))
        for words in (("--arch", "75"), ("--arch", "80", "--all"), ("--arch", "80", "--kernel", "others")):
            self.assertIn("there is no nvcc here, and of this step only the inner loop of one kernel is recorded (SASS for "
                          "8.6, SASS for 8.0, PTX for 8.6, PTX for 8.0)", self.sass("01", "rows", *words, status=2))
        # A comment changes nothing, code does, a header's too.
        step = self.root / "01_a/step1_rows.cu"
        step.write_text(step.read_text().replace("// twice", "// 2 times"))
        self.assertIn("record for 8.0", self.sass("01", "rows", "--arch", "80"))
        (self.root / "01_a/01_a.hpp").write_text("int other;\n")
        self.assertEqual(self.sass("--json"), "{}")
        self.assertIn("this step, or a header of it, has changed", self.sass("01", "rows", "--arch", "80", status=2))
        path.rename(path.with_suffix(".old"))
        self.assertIn("nothing is recorded of this step", self.sass("01", "rows", "--arch", "80", status=2))
        path.with_suffix(".old").rename(path)
        # What is recorded anew drops what is no longer true, and keeps the rest.
        self.install("nvcc", "nvdisasm")
        self.record("--arch", "80")
        self.record("--arch", "75")
        self.assertEqual(re.findall("^== (.*) of", path.read_text(), re.M), ["sass 80", "sass 75"])

    def test_the_recorder_refuses(self):
        self.install("nvcc")
        self.assertIn("record_sass: nvcc and nvdisasm are needed", self.record(status=2))
        self.assertIn("record_sass: no step fits x*", self.record("--kind", "ptx", "--only", "x*", status=2))
        self.assertIn("record_sass: '81' is none of 75, 80, ", self.record("--arch", "81", status=2))
        (self.root / "01_a/step1_rows.cu").write_text("not C++\n")
        said = self.record("--kind", "ptx", status=2)
        self.assertIn("step1_rows.cu does not compile for sm_80:\n", said)
        self.assertIn("record_sass: nothing was recorded", said)

    def test_refusals(self):
        self.install("nvcc", "nvdisasm")
        for words, said in (((), "sass of which step? For example: ./learn sass 02 vectorised"),
                            (("01",), "sass of which step? For example: ./learn sass 01 on_host"),
                            (("9", "x"), "there is no chapter '9'; choose from 01_a"),
                            (("01", "rosw"), "there is no step 'rosw' in 01_a; did you mean 'rows'? choose from"),
                            (("01", "part"), "it is a part, so say ./learn sass 01/part, or choose"),
                            (("01", "on_host"), "01_a/step2_on_host.cpp has no kernel of its own"),
                            (("01", "rows", "--arch", "81"), "'81' is no architecture here; choose from 7.5, 8.0, "),
                            (("01", "hopper", "--arch", "8.0"), "on 8.0 step1_hopper.cu has no code, only on 9.0a"),
                            (("01", "rows", "--arch", "80", "--kernel", "row_"),
                             "there is no kernel 'row_'; did you mean 'rows'? choose from rows"),
                            (("01", "rows", "--arch", "80", "--loop", "3"), "rows has 2 loops, and no loop 3")):
            self.assertRegex(self.sass(*words, status=2), "^learn sass: .*" + re.escape(said))
        (self.root / "01_a/step1_rows.cu").write_text("not C++\n")
        said = self.sass("01", "rows", "--arch", "80", status=2)
        self.assertIn("learn sass: 01_a/step1_rows.cu does not compile for 8.0:\n", said)
        self.assertIn("error: not C++", said)
        (self.bin / "nvdisasm").write_text("#!/bin/sh\necho 'nvdisasm fatal : of a newer toolkit' >&2; exit 1\n")
        (self.root / "01_a/step1_rows.cu").write_text(STEP.format(number=1))
        self.assertIn("learn sass: nvdisasm does not take what nvcc has made: nvdisasm fatal",
                      self.sass("01", "rows", "--arch", "80", status=2))

    def test_it_is_a_command(self):
        said = subprocess.run([self.root / "learn", "sass"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr.splitlines()[-1]),
                         (2, "learn sass: sass of which step? For example: ./learn sass 02 vectorised"))


@unittest.skipIf(not NVCC, "there is no nvcc here")
class Compiled(unittest.TestCase):
    def sass(self, *words):
        env = {**os.environ, "CUDACXX": NVCC}
        return subprocess.run([PROJECT / "common/tools/learn/sass.py", *words], capture_output=True, text=True, env=env,
                              check=True).stdout

    def below(self, code, said):
        """What is said of the line of step vectorised that ends like this."""
        step = (PROJECT / "02_tiled_matmul/step4_vectorised.cu").read_text().splitlines()
        line = next(number for number, text in enumerate(step, 1) if text.endswith(code))
        return re.search(rf"^ *{line}  .*\n((?: {{8,}}.*\n)+)", said, re.M)[1]

    def test_a_patch_of_registers(self):
        said = self.sass("02", "vectorised", "--arch", "80", "--ptx")
        self.assertIn("vectorised_kernel<true, true, true>: PTX for 8.0 (one of 8 kernels", said)
        self.assertIn("Registers as recorded of the shipped step: ", said)
        for code, kind, count in (("sum[i][j] += a[i] * b[j];", "fma.rn.f32", 64),
                                  ("&As[k][ty * TM + i]);", "ld.shared.v4", 2),
                                  ("&Bs[k][j * (BN / TN) + tx * 4]);", "ld.shared.v4", 2)):
            self.assertEqual(self.below(code, said).count(f"  {kind}"), count, said)

    def test_products_of_a_warpgroup(self):
        self.assertIn("4 wgmma.mma_async.sync", self.sass("02/hopper", "ring", "--ptx"))

    @unittest.skipIf(not project.tool("nvdisasm"), "there is no nvdisasm here")
    def test_sass(self):
        said = self.sass("02", "vectorised", "--arch", "80")
        self.assertRegex(said, r"\n\d+ FFMA, .* are FFMA\.\n")
        self.assertGreaterEqual(self.below("sum[i][j] += a[i] * b[j];", said).count("  FFMA"), 64, said)
        self.assertIn("  LDS.128 ", self.below("&As[k][ty * TM + i]);", said))
        self.assertIn("HGMMA.64x256x16.F32.BF16", self.sass("02/hopper", "ring"))


if __name__ == "__main__":
    unittest.main()
