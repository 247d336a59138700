// What a thread's crash tells, and a way to go on after it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace simulator {

struct Crash {
  int signal;
  const void* address;      // that was touched
  const void* instruction;  // that touched it
  uintptr_t stack;          // where the thread's stack had come to; 0: not known
};

/// As long as it lives, crashes go to a handler, which jumps away from those that it knows. If it
/// returns, the program ends as it would without it. One at a time.
class CrashGuard {
 public:
  explicit CrashGuard(void (*handler)(const Crash& crash));
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
};

/// A stack for the handler, in the thread that makes it: the crashed one may be full.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;

 private:
  unsigned char* const pages_;
};

/// A place to which any fiber that `body` resumes may leave, and the body itself.
class WayOut {
 public:
  WayOut();
  ~WayOut();
  /// True when the body has ended, false when it was left.
  bool run(const std::function<void()>& body);
  /// Nothing is unwound.
  [[noreturn]] void leave();

 private:
  struct Place;
  const std::unique_ptr<Place> place_;
};

}  // namespace simulator
