// The one exception that a user is meant to read.
#pragma once

#include <stdexcept>

namespace tutorial {

/// Something that the user can mend: a bad option, a bad file, too little memory. `what()` is one
/// sentence that says what is wrong and what to do. A program prints it on stderr and exits with 2.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The same where another device would do what was asked for, and this one is too small.
struct DeviceTooSmall : Error {
  using Error::Error;
};

}  // namespace tutorial
