#include <cstdlib>
#include <exception>
#include "catch2/catch_test_macros.hpp"
int main(int argc, char** argv) {
  if (argc < 2) { std::printf("%zu\n", shim::tests().size()); return 0; }
  auto& t = shim::tests()[std::atoi(argv[1])];
  const char* end = "ok";
  try { t.f(); } catch (const shim::Skip& s) { end = "SKIPPED"; std::printf("%s\n", s.why.c_str()); }
  catch (const std::exception& e) { ++shim::failures; std::printf("  THROWN %s\n", e.what()); }
  std::printf("%-70s %s\n", t.name, shim::failures ? "FAILED" : end);
}
