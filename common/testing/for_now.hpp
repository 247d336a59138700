#pragma once

#include <utility>

namespace tutorial {

/// A variable has another value until the end of the scope, also where a test is skipped in it.
template <class T>
class ForNow {
 public:
  ForNow(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~ForNow() { variable_ = before_; }
  ForNow(const ForNow&) = delete;
  ForNow& operator=(const ForNow&) = delete;

 private:
  T& variable_;
  const T before_;
};

}  // namespace tutorial
