#pragma once
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>
namespace shim {
struct Test { const char* name; void (*f)(); };
inline std::vector<Test>& tests() { static std::vector<Test> t; return t; }
inline int failures = 0; inline std::string info;
struct Add { Add(const char* n, void (*f)()) { tests().push_back({n, f}); } };
struct Skip { std::string why; };
}
#define SHIM_CAT2(a, b) a##b
#define SHIM_CAT(a, b) SHIM_CAT2(a, b)
#define TEST_CASE(name, tags) SHIM_TEST(name, SHIM_CAT(shim_test_, __LINE__))
#define SHIM_TEST(name, id) static void id(); static shim::Add SHIM_CAT(id, _add)(name, id); static void id()
#define CHECK(...) do { if (!(__VA_ARGS__)) { ++shim::failures; std::printf("  FAILED %s:%d %s  [%s]\n", __FILE__, __LINE__, #__VA_ARGS__, shim::info.c_str()); } } while (0)
#define REQUIRE CHECK
#define SKIP(why) throw shim::Skip{why}
#define INFO(...) do { std::ostringstream s; s << __VA_ARGS__; shim::info = s.str(); } while (0)
#define REQUIRE_THROWS_AS(e, T) do { bool threw = false; try { (void)(e); } catch (const T&) { threw = true; } CHECK(threw); } while (0)
