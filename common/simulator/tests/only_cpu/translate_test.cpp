// The rewrites, on text alone. That the result compiles and runs is what every .cu file tests.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "common/simulator/translate/translate_source.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

/// The translation without its first line, which must be the #line directive. Checks that each line
/// of the source gave one line.
std::string translated(const std::string& source) {
  const std::string first_line = "#line 1 \"/dir/in.cu\"\n";
  const std::string result = simulator::translate_source(source, "/dir/in.cu");
  REQUIRE_THAT(result, StartsWith(first_line));
  const std::string body = result.substr(first_line.size());
  CHECK(std::count(body.begin(), body.end(), '\n') ==
        std::count(source.begin(), source.end(), '\n'));
  return body;
}

/// What takes the place of `name<<<` when the name stands on one line. `label` is the name as a
/// string literal.
std::string site(const std::string& name, const std::string& label) {
  return "::simulator::launch_site(" + label +
         ", [&](auto... args_) SIMULATOR_UNCHECKED { SIMULATOR_CONFIGURED(" + name +
         "(args_...)) }, [&](auto address_of_) -> decltype(address_of_(" + name +
         ")) { return address_of_(" + name + "); }, ";
}
std::string site(const std::string& name) {
  return site(name, "\"" + name + "\"");
}

std::string error_of(const std::string& source) {
  try {
    simulator::translate_source(source, "/dir/in.cu");
  } catch (const simulator::TranslateError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("translate: source without CUDA stays as it is") {
  for (const std::string source :
       {"", "int x;", "int f(int a, int b) { return a < b ? a << 2 : b >> 3; }\n",
        "std::vector<std::vector<std::vector<int>>>(3);\r\n", "auto x = a <=> b; // end"})
    CHECK(translated(source) == source);
}

TEST_CASE("translate: the path in #line is escaped") {
  CHECK(simulator::translate_source("x", "a \"b\"\\c.cu") == "#line 1 \"a \\\"b\\\"\\\\c.cu\"\nx");
}

TEST_CASE("translate: a byte order mark is dropped") {
  CHECK(translated("\xEF\xBB\xBFx;") == "x;");
}

TEST_CASE("translate: a launch's configuration and arguments stay as they are") {
  CHECK(translated("k<<<grid, block>>>(x, 3);") == site("k") + "grid, block)(x, 3);");
  CHECK(translated("k <<< g, b, 0, s >>> ();") == site("k") + " g, b, 0, s ) ();");
  CHECK(translated("k<<<{2, 3}, dim3{4, (5 > 4)}>>>(f(\")\"));") ==
        site("k") + "{2, 3}, dim3{4, (5 > 4)})(f(\")\"));");
}

TEST_CASE("translate: the kernel's name") {
  for (const std::string name : {"k",
                                 "a::b",
                                 "::k",
                                 "::a::b",
                                 "k<4>",
                                 "k<4, float>",
                                 "k<a<b<c>>>",
                                 "k<(3 > 2), sizeof(int[2])>",
                                 "k<1 << 4>",
                                 "k<N <= 4, N >= 2>",
                                 "k<decltype(p->x)>",
                                 "a<int>::k",
                                 "T::template k<2>",
                                 "(pointer)",
                                 "(i > 0 ? k : j)",
                                 "table[i]",
                                 "step.kernel",
                                 "step->kernel",
                                 "pick<2>(i)",
                                 "KERNEL(float)",
                                 "k<'>', 1'000>"})
    for (const std::string before : {"", "return ", "else ", "if (x) ", "if constexpr (x) ", "{ ",
                                     "; ", "a, ", "CHECK(x) ", "c ? "}) {
      if (before == "CHECK(x) " && name[0] == '(') continue;  // would be a call of CHECK's result
      CAPTURE(before, name);
      CHECK(translated(before + name + "<<<1, 2>>>(x);") == before + site(name) + "1, 2)(x);");
    }
}

TEST_CASE("translate: quotes in the name are escaped in its label") {
  CHECK(translated("k<'\"'><<<1, 2>>>();") == site("k<'\"'>", "\"k<'\\\"'>\"") + "1, 2)();");
  CHECK(translated("k<'\\\\'><<<1, 2>>>();") ==
        site("k<'\\\\'>", "\"k<'\\\\\\\\'>\"") + "1, 2)();");
}

TEST_CASE("translate: a name over several lines keeps the lines") {
  CHECK(translated("k<1,  // one\n  2 /* two */>\n<<<3,\n4>>>(\nx);\nk<<<1, 2>>>();") ==
        site("k<1, 2 >") + "\n\n3,\n4)(\nx);\n" + site("k") + "1, 2)();");
}

TEST_CASE("translate: several launches on a line, and one inside another's arguments") {
  CHECK(translated("k<1><<<1, 2>>>(x); if (y) j<<<3, 4>>>(y); k<<<5, 6>>>();") ==
        site("k<1>") + "1, 2)(x); if (y) " + site("j") + "3, 4)(y); " + site("k") + "5, 6)();");
  CHECK(translated("k<<<1, 2>>>([&] { j<<<3, 4>>>(); });") ==
        site("k") + "1, 2)([&] { " + site("j") + "3, 4)(); });");
}

TEST_CASE("translate: templates and comparisons in the configuration") {
  for (const std::string config :
       {"f<g<h<1>>>(x), 128", "dim3(a<b<c>>(1), d<e<f<2>>>(3)), 4", "n < 4 ? 1 : 2, 128",
        "n > 4 ? 1 : 2, n >> 2", "1 << 3, 1 >> 3", "(n < 4), m > 3", "ceil_div<int>(n, 4), 32",
        "f<g<1>>(2), h<3>", "[&] { return a < b; }(), 1", "x[a < b], 2", "n<m, 128"}) {
    CAPTURE(config);
    CHECK(translated("k<<<" + config + ">>>(x);") == site("k") + config + ")(x);");
    CHECK(translated("k<<<" + config + ">>>(x), j<<<1, 2>>>(y);") ==
          site("k") + config + ")(x), " + site("j") + "1, 2)(y);");
  }
}

TEST_CASE("translate: comments and literals are left alone") {
  for (const std::string source :
       {"// k<<<1, 2>>>(x) extern __shared__ float s[];\n", "/* k<<<1, 2>>>(x)\n */ int x;",
        "// goes on \\\n k<<<1, 2>>>(x)\n", "f(\"k<<<1, 2>>>(x)\");", "f(\"\\\"k<<<1, 2>>>(x)\");",
        "f(R\"(\"k<<<1, 2>>>(x)\n)\");", "f(u8R\"a()\" k<<<1, 2>>>(x) )a\");",
        "f(L\"k<<<1, 2>>>(x)\");", "char c = '<'; int n = 1'000'000; // k<<<1, 2>>>(x)"})
    CHECK(translated(source) == source);
  CHECK(translated("int n = 1'000; k<<<n, '\"'>>>(\"a\");") ==
        "int n = 1'000; " + site("k") + "n, '\"')(\"a\");");
  CHECK(translated("#if 0\nan apostrophe isn't a literal\n#endif\nk<<<1, 2>>>();") ==
        "#if 0\nan apostrophe isn't a literal\n#endif\n" + site("k") + "1, 2)();");
}

TEST_CASE("translate: directives other than #define are left alone") {
  for (const std::string source :
       {"#include <k<<<1, 2>>>(x)>\n", "#error don't k<<<1, 2>>>(x)\n",
        "  #  pragma k<<<1, 2>>>(x) \\\n  k<<<1, 2>>>(x)\n", "#line 5 \"k<<<1, 2>>>(x)\"\n"})
    CHECK(translated(source) == source);
  CHECK(translated("k<<<1,\n#ifdef X\n2\n#else\n3\n#endif\n>>>(x);") ==
        site("k") + "1,\n#ifdef X\n2\n#else\n3\n#endif\n)(x);");
}

TEST_CASE("translate: a launch in a macro") {
  CHECK(translated("#define GO k<<<1, 2>>>()\nint x;") ==
        "#define GO " + site("k") + "1, 2)()\nint x;");
  // The label names the argument, not the parameter.
  CHECK(translated("#define GO(kernel, ...) \\\n  kernel<<<1, 2>>>(__VA_ARGS__)\nint x;") ==
        "#define GO(kernel, ...) \\\n  " + site("kernel", "\"\" #kernel \"\"") +
            "1, 2)(__VA_ARGS__)\nint x;");
  CHECK(translated("#define GO(T)  \\\n  k<T,   \\\n    2><<<1, \\\n 2>>>()\nint x;") ==
        "#define GO(T)  \\\n  " + site("k<T, 2>", "\"k<\" #T \", 2>\"") +
            "\\\n1, \\\n 2)()\nint x;");
}

TEST_CASE("translate: a kernel's name that a macro pastes together") {
  CHECK(translated("#define GO(a, b) x::run_##a##_##b<a><<<1, 2>>>()\nint x;") ==
        "#define GO(a, b) " +
            site("x::run_##a##_##b<a>", "\"x::run_\" #a \"_\" #b \"<\" #a \">\"") +
            "1, 2)()\nint x;");
  CHECK(translated("#define GO(a) a ## _k<<<1, 2>>>()\nint x;") ==
        "#define GO(a) " + site("a ## _k", "\"\" #a \"_k\"") + "1, 2)()\nint x;");
}

TEST_CASE("translate: dynamic shared memory becomes a pointer") {
  const auto in_kernel = [](const std::string& declaration) {
    const std::string body = translated("void k() { " + declaration + " }");
    return body.substr(11, body.size() - 13);
  };
  CHECK(in_kernel("extern __shared__ float s[];") ==
        "float* const s = ::simulator::dynamic_shared<float>(\"s\");");
  for (const std::string type : {"float4", "T", "unsigned char", "std::uint8_t", "const int",
                                 "vec<T, 4>", "long long unsigned int"}) {
    const std::string want = type + "* const s = ::simulator::dynamic_shared<" + type + ">(\"s\");";
    for (const std::string before :
         {"extern __shared__ ", "__shared__ extern ", "extern __shared__ __align__(16) ",
          "extern __align__(sizeof(float4)) __shared__ ", "alignas(16) extern __shared__ ",
          "alignas(alignof(float4)) extern __shared__ ", "extern __shared__ alignas(16) "}) {
      CAPTURE(before, type);
      CHECK(in_kernel(before + type + " s[];") == want);
      CHECK(in_kernel(before + type + " s [ ] ;") == want.substr(0, want.size() - 1) + " ;");
    }
    CHECK(in_kernel("extern __shared__ " + type + " __align__(16) s[];") == want);
  }
  CHECK(in_kernel("extern volatile __shared__ int s[];") ==
        "volatile int* const s = ::simulator::dynamic_shared<volatile int>(\"s\");");
  CHECK(in_kernel("extern __shared__ float s[][4];") ==
        "float (* const s)[4] = ::simulator::dynamic_shared<float[4]>(\"s\");");
  CHECK(in_kernel("extern __shared__ // why\n  float\n  s[];") ==
        "float* const s = ::simulator::dynamic_shared<float>(\"s\")\n\n;");
  CHECK(in_kernel("extern __shared__ float s[]; float* t = s;") ==
        "float* const s = ::simulator::dynamic_shared<float>(\"s\"); float* t = s;");
  CHECK(translated("#define SHARED(T) extern __shared__ T s[]\nint x;") ==
        "#define SHARED(T) T* const s = ::simulator::dynamic_shared<T>(\"s\")\nint x;");
}

TEST_CASE("translate: a shared array gets a gap behind it, and a name") {
  const auto call = [](const std::string& name) {
    return " ::simulator::declare_shared(\"" + name + "\", " + name + ", simulator_gap_after_" +
           name + ");";
  };
  for (const std::string declaration :
       {"__shared__ float s[32][33]", "static __shared__ T s[N]",
        "__shared__ alignas(16) float s[4]", "__device__ __shared__ int s",
        "__shared__ Pair<int, float> s[a < b ? 1 : 2]", "volatile __shared__ unsigned int *s",
        "float __shared__ s[4]", "__shared__ __attribute__((aligned(16))) char s[16]",
        "__shared__ struct { int a, b; } s"}) {
    CAPTURE(declaration);
    const std::string star = declaration.ends_with("*s") ? "*" : "";  // its type may have no array
    CHECK(translated("void k() { " + declaration + "; int x; }") ==
          "void k() { " + declaration + ", " + star + "simulator_gap_after_s[64];" + call("s") +
              " int x; }");
  }
  CHECK(translated("void k() { __shared__ float s[b * b],\n  t; }") ==
        "void k() { __shared__ float s[b * b], simulator_gap_after_s[64],\n  t, "
        "simulator_gap_after_t[64];" +
            call("s") + call("t") + " }");
}

TEST_CASE("translate: dynamic shared memory with its words in another order") {
  for (const std::string declaration :
       {"extern float __shared__ s[]", "float extern __shared__ s[]", "__shared__ float extern s[]",
        "extern __shared__ __attribute__((aligned(16))) float s[]",
        "extern __device__ __shared__ float s[]", "alignas(16) __shared__ extern float s[]"}) {
    CAPTURE(declaration);
    CHECK(translated("void k() { int x; " + declaration + "; }") ==
          "void k() { int x; float* const s = ::simulator::dynamic_shared<float>(\"s\"); }");
  }
  CHECK(
      translated("void k() { volatile extern __shared__ float s[]; }") ==
      "void k() { volatile float* const s = ::simulator::dynamic_shared<volatile float>(\"s\"); }");
  CHECK(translated("void k() { extern std::vector<int>::value_type __shared__ s[]; }") ==
        "void k() { std::vector<int>::value_type* const s = "
        "::simulator::dynamic_shared<std::vector<int>::value_type>(\"s\"); }");
}

TEST_CASE("translate: dynamic shared memory outside of functions") {
  const std::string want =
      "[[maybe_unused]] static thread_local float* const s = "
      "::simulator::dynamic_shared_of_file<float>(\"s\");";
  CHECK(translated("extern __shared__ float s[];") == want);
  CHECK(translated("namespace a { extern \"C\" { extern __shared__ float s[]; } }") ==
        "namespace a { extern \"C\" { " + want + " } }");
  CHECK(translated("extern __shared__ float s[];\nint x;\nextern __shared__ float s[];\n") ==
        want + "\nint x;\n;\n");
  CHECK(translated(
            "#if A\nextern __shared__ float s[];\n#else\nextern __shared__ float s[];\n#endif") ==
        "#if A\n" + want + "\n#else\n" + want + "\n#endif");
}

TEST_CASE("translate: an extern \"C\" kernel is a function") {
  CHECK(translated("extern \"C\" __global__ void k() { __shared__ int a; }") ==
        "extern \"C\" __global__ void k() { __shared__ int a, simulator_gap_after_a[64]; "
        "::simulator::declare_shared(\"a\", a, simulator_gap_after_a); }");
  CHECK(translated("extern \"C\" void k() { extern __shared__ int a[]; }") ==
        "extern \"C\" void k() { int* const a = ::simulator::dynamic_shared<int>(\"a\"); }");
}

TEST_CASE("translate: __cluster_dims__ goes into the kernel's body") {
  const auto call = [](const std::string& size) {
    return " constexpr ::dim3 simulator_cluster{" + size +
           "}; ::simulator::cluster_dims(simulator_cluster);";
  };
  CHECK(translated("__global__ void __cluster_dims__(2, 1, 1) k(float* p) { f(); }") ==
        "__global__ void  k(float* p) {" + call("2, 1, 1") + " f(); }");
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"", " __global__ void k() "},
           {"__global__ void ", " __launch_bounds__(128) k(int n) "},
           {"__global__ __launch_bounds__(128) void ", " k(Pair<int, 2> p = {1, 2}, int n = (3)) "},
           {"namespace a { template <class T, int N> __global__ auto ", " k(T* p) -> void "}})
    for (const std::string size : {"2", "N, 4", "N > 2 ? N : 2", "sizeof(T), f(1, 2)"}) {
      CAPTURE(before, after, size);
      CHECK(translated(before + "__cluster_dims__(" + size + ")" + after + "{ }") ==
            before + after + "{" + call(size) + " }");
    }
  CHECK(translated("__global__ void __cluster_dims__ (2, // x\n 1) k()\n{\n  f();\n}") ==
        "__global__ void \n k()\n{" + call("2, 1") + "\n  f();\n}");
  CHECK(translated("__global__ void __cluster_dims__(2) k() {} __global__ void "
                   "__cluster_dims__(4) l() { __shared__ float (*s)[4]; }") ==
        "__global__ void  k() {" + call("2") + "} __global__ void  l() {" + call("4") +
            " __shared__ float (*s)[4]; }");
  CHECK(translated("#if A\n__global__ void __cluster_dims__(2) k() {}\n#endif") ==
        "#if A\n__global__ void  k() {" + call("2") + "}\n#endif");
  // What else there is the compiler refuses, where it stays in the program.
  for (const std::string source :
       {"__global__ void __cluster_dims__(2) k(float* p);",
        "__global__ void __cluster_dims__(2) k(); void f() {}",
        "#define C __cluster_dims__(2)\nint x;",
        "#define K __global__ void __cluster_dims__(2) k() {}\nint x;",
        "__global__ void __cluster_dims__() k() {}", "__global__ void __cluster_dims__",
        "__global__ void __cluster_dims__(2", "__global__ void __cluster_dims__(2) k(",
        "__global__ void\n#if A\n__cluster_dims__(2)\n#endif\nk() {}",
        "// __cluster_dims__(2) k() {}"})
    CHECK(translated(source) == source);
}

TEST_CASE("translate: a name's own value is replaced where that is asked for") {
  const auto with = [](const std::string& source) {
    const std::string text =
        simulator::translate_source(source, "in.cu", {}, {{"N", "64"}, {"T", "2"}});
    return text.substr(text.find('\n') + 1);
  };
  CHECK(with("#define N 1000  // many\nint x[N];") == "#define N 64  // many\nint x[N];");
  CHECK(with("#define N (1 << \\\n 20)\n") == "#define N 64\\\n\n");
  CHECK(with("const int B = 8, T = f(1, 2), C = 3;") == "const int B = 8, T = 2, C = 3;");
  CHECK(with("static constexpr size_t N = 1000;") == "static constexpr size_t N = 64;");
  CHECK(with("constexpr size_t N{1000U};") == "constexpr size_t N{64};");
  CHECK(with("std::vector<int> N = {1, 2};") == "std::vector<int> N = 64;");
  for (const std::string source :
       {"N = 5;", "return N == 5;", "f(a, N = 5);", "namespace N { int x; }", "a < b, N = 5;",
        "if (N == 5) f();", "#define N(x) x\n", "#define M N\n", "#ifdef N\n#endif\n",
        "#define N\n", "int M = N;", "p->N = 5;"})
    CHECK(with(source) == source);
}

TEST_CASE("translate: cudaLaunchKernel gets the kernel without a cast") {
  for (const std::string cast : {"(void*)", "(const void *)", "(void const*)"})
    CHECK(translated("cudaLaunchKernel(" + cast + "k<2>, g, b, a);") ==
          "cudaLaunchKernel(k<2>, g, b, a);");
  CHECK(translated("cudaLaunchKernel(reinterpret_cast<const void*>(k), g);") ==
        "cudaLaunchKernel((k), g);");
  for (const std::string source : {"cudaLaunchKernel(k, g);", "cudaLaunchKernel((k), g);",
                                   "f((void*)k);", "auto f = cudaLaunchKernel;"})
    CHECK(translated(source) == source);
}

TEST_CASE("translate: what is not there is named in a sentence") {
  for (const auto& [source, what] : std::vector<std::pair<std::string, std::string>>{
           {"\n\n#include <thrust/sort.h>", "Thrust"},
           {"\n\n#include <cub/cub.cuh>", "CUB"},
           {"\n\n#  include \"curand_kernel.h\"", "cuRAND"},
           {"\n\nthrust::sort(a, b);", "Thrust"},
           {"\n\ncurandState state;", "cuRAND"},
           {"\n\nfloat x = tex2D<float>(t, 1, 2);", "texture and surface memory"},
           {"\n\ncudaTextureObject_t t;", "texture and surface memory"},
           {"\n\ncudaGraph_t graph;", "CUDA graphs"},
           {"\n\ncublasDgemv(handle, a, b);", "this part of cuBLAS"},
           {"\n\ncublasHgemmStridedBatched(handle, a, b);", "this part of cuBLAS"},
           {"\n\nusing namespace cutlass; cutlass::gemm::Gemm gemm;", "CUTLASS"},
           {"#ifndef A_H\n#define A_H\n#include <cudnn.h>\n#endif", "cuDNN"}}) {
    CAPTURE(source);
    const std::string said = error_of(source);
    CHECK(said.starts_with("/dir/in.cu:3: " + what + ": not on the CPU backend; "));
    CHECK(said.ends_with(" (docs/try.md lists what is)"));
  }
  // Under an #if, the compiler decides; and others may have such names.
  for (const std::string source :
       {"cublasSgemm(a); cublasSgemmStridedBatched(b); cublasCheck(c); cublasSgemmMine(d);",
        "int curandom, thrust, cub; x.tex2D(1); my::cudnnThing();", "// cudaGraph_t\n\"thrust::\"",
        "#include <cuda_runtime.h>\n#include \"cublas_v2.h\"\n#include <vector>\n"})
    CHECK(translated(source) == source);
  CHECK(translated("#ifdef A\n#include <cufft.h>\n#endif\n") ==
        "#ifdef A\n#include \"cuFFT: not on the CPU backend; write the transform as a kernel "
        "(docs/try.md lists what is)\"\n#endif\n");
  const std::string decided = translated("#if A\ncudaGraph_t graph;\n#endif");
  CHECK(decided.starts_with("#if A\n_Pragma(\"GCC error \\\"CUDA graphs: not on the CPU backend;"));
  CHECK(decided.ends_with(")\\\"\") cudaGraph_t graph;\n#endif"));
}

TEST_CASE("translate: other shared arrays and other externs are left alone") {
  for (const std::string source :
       {"void k() { __shared__ float (*s)[4]; }", "void k() { if (x) __shared__ float s[4]; }",
        "#define SHARED(T, n) __shared__ T n[4];\nint x;", "extern float s[];",
        "extern \"C\" __global__ void k(float* s);"})
    CHECK(translated(source) == source);
}

TEST_CASE("translate: of static __constant__ the first word is dropped") {
  for (const std::string after : {"float c[4];", "const float c[4];", "__device__ T c;"}) {
    CHECK(translated("__constant__ " + after) == "__constant__ " + after);
    CHECK(translated("static __constant__ " + after) == " __constant__ " + after);
    CHECK(translated("__constant__ static " + after) == "__constant__  " + after);
    CHECK(translated("int x; static __device__ __constant__ " + after) ==
          "int x;  __device__ __constant__ " + after);
    CHECK(translated("static\n__constant__ " + after) == "\n__constant__ " + after);
    CHECK(translated("#define C static __constant__ " + after) ==
          "#define C  __constant__ " + after);
  }
  CHECK(translated("static int x; __constant__ int c;") == "static int x; __constant__ int c;");
}

TEST_CASE("translate: errors name the file and the line") {
  for (const std::string source : {"\n\n<<<1, 2>>>();",
                                   "\n\nreturn <<<1, 2>>>();",
                                   "\n\n3<<<1, 2>>>();",
                                   "\n\nk<(1, 2><<<1, 2>>>();",
                                   "\n\n2><<<1, 2>>>();",
                                   "\n\n)<<<1, 2>>>();",
                                   "\n\nk<<<1, 2>>();",
                                   "\n\nk<<<1, 2>>>;",
                                   "\n\nk<<<(1, 2>>>();",
                                   "\n\nk<<<1, 2)>>>();",
                                   "\n\nk<<<1, 2",
                                   "\n\n#define GO k<<<1,\n2>>>()",
                                   "\n\n\"a\"<<<1, 2>>>();",
                                   "\n\nvoid k() { extern __shared__ float s; }",
                                   "\n\nvoid k() { extern __shared__ s[]; }",
                                   "\n\nvoid k() { extern __shared__ float s[], t[]; }",
                                   "\n\nvoid k() { extern __shared__ float s[4]; }",
                                   "\n\n__device__ __shared__ float s[4];",
                                   "\n\nstatic __shared__ float s;",
                                   "namespace a {\nextern \"C\" {\n__shared__ float s[4];\n}}",
                                   "\n\nextern __shared__ float s;"}) {
    CAPTURE(source);
    CHECK_THAT(error_of(source), StartsWith("/dir/in.cu:3: "));
  }
  CHECK_THAT(error_of("<<<1, 2>>>();"), ContainsSubstring("no kernel name before <<<"));
  CHECK_THAT(error_of("k<<<1, 2;"), ContainsSubstring("no matching >>>("));
  CHECK_THAT(error_of("__shared__ int s[4];"), ContainsSubstring("into the kernel"));
}
