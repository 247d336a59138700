// What inline PTX becomes, on text alone. That it computes what it should is what
// simulator/tests/units/inline_ptx*_test.cu test, on both backends.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "common/simulator/translate/inline_ptx.hpp"
#include "common/simulator/translate/translate_source.hpp"

namespace {

/// Without the first lines, which include the functions and name the file.
std::string translated(const std::string& source) {
  const std::string result = simulator::translate_source(source, "in.cu");
  const std::string line = "#line 1 \"in.cu\"\n", include = "#include \"simulator/inline_ptx.h\"\n";
  const bool has_ptx = result.starts_with(include);
  return (has_ptx ? "PTX " : "") + result.substr((has_ptx ? include.size() : 0) + line.size());
}

/// The sentence for "…" with the operands x and y.
std::string refused(const std::string& text) {
  return simulator::cpp_of_ptx({"\"" + text + "\""}, {"x", "y"}).refused;
}

}  // namespace

TEST_CASE("translate: an instruction becomes a call, on its lines") {
  CHECK(translated("asm(\"bar.sync 0;\");") ==
        "PTX __extension__ ({ ::simulator::ptx_barrier(::simulator::ptx_value<int>(0)); });");
  CHECK(translated("asm volatile (\"bar\"  // two literals\n \".sync %0;\\n\" :: \"r\"(f(x)) : "
                   "\"memory\");") ==
        "PTX __extension__ ({ auto&& ptx_0 = (f(x)); "
        "::simulator::ptx_barrier(::simulator::ptx_value<int>(ptx_0)); })\n;");
  CHECK(translated("#define BAR __asm__ __volatile__(\"bar.sync 0;\")\nint x;") ==
        "PTX #define BAR __extension__ ({ "
        "::simulator::ptx_barrier(::simulator::ptx_value<int>(0)); })\nint x;");
  CHECK(translated("asm(R\"(trap;)\");") == "PTX __extension__ ({ ::__trap(); });");
}

TEST_CASE("translate: what is no PTX stays") {
  for (const std::string source :
       {"asm volatile(\"\" ::: \"memory\");", "asm(\"rdtsc\" : \"=A\"(t));",
        "int f() asm(\"name\");", "x.asm_(\"a;\");", "asm volatile"})
    CHECK(translated(source) == source);
}

TEST_CASE("translate: PTX of the host's own files stays") {
  const std::string source = "asm(\"pause;\"); k<<<1, 1>>>();";
  CHECK(simulator::translate_source(source, "a", {}, {}, simulator::Side::host) ==
        "#line 1 \"a\"\n" + source);
}

TEST_CASE("translate: what inline PTX has not is a sentence") {
  const std::string begin = "inline PTX: ", end = " is not on the CPU backend: ";
  const std::string others = end + "docs/try.md lists what is";
  CHECK(refused("add.sat.s32 %0, %1, 1;") == begin + "add.sat.s32" + others);
  CHECK(refused("add.s32 %0, %1;") == begin + "add.s32" + others);
  CHECK(refused("add.s32 %0, %1, %2;") == begin + "an operand %2 that is not listed" + others);
  CHECK(refused("add.s32 %0, %1, n;") == begin + "the operand n" + others);
  CHECK(refused("ld.global.u32 %0, %1;") == begin + "the operand %1" + others);
  CHECK(refused("mov.u32 %0, %%envreg0;") == begin + "the operand %%envreg0" + others);
  CHECK(refused(".reg .b32 r<4>;") == begin + ".reg .b32 r<4>" + others);
  CHECK(refused("cvt.rn.tf32.f32 %0, %1;") == begin + "cvt.rn.tf32.f32" + others);
  CHECK(refused("cvt.rzi.s32.f32 %0, %1;") == begin + "cvt.rzi.s32.f32" + others);
  CHECK(refused("ex2.approx.f16x2 %0, %1;") == begin + "ex2.approx.f16x2" + others);
  CHECK(refused("ld.relaxed.gpu.global.u32 %0, [%1];") ==
        begin + "ld.relaxed.gpu.global.u32" + end +
            "use ld.volatile, st.volatile or an atomic function");
  CHECK(refused("mbarrier.init.shared.b64 [%0], %1;") ==
        begin + "mbarrier.init.shared.b64" + end + "common/kernel/barrier.cuh has it");
  CHECK(translated("asm(NAME \";\");")
            .find("error(\"inline PTX: a macro in its text is not on the "
                  "CPU backend\")") != std::string::npos);
}
