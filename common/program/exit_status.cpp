// How a program ends: what became of an error.
#include <iostream>
#include <new>
#include <stdexcept>

#include "common/data/text.hpp"
#include "common/kernel/error.hpp"
#include "common/program/table.hpp"

namespace tutorial {
namespace {

int stop(const std::string& sentence, int status) {
  std::cout << std::flush;
  std::cerr << printable(sentence) << std::endl;  // it may hold words of the user, or of a file
  return status;
}

}  // namespace

void require_printed() {
  if (!std::cout.flush()) throw Error("not all of the output could be written; is the disk full?");
}

int exit_status() {
  const char* too_large = "the host has too little memory for these sizes; choose smaller ones";
  try {
    try {
      throw;
    } catch (const Finished&) {
      require_printed();
      return 0;
    }
  } catch (const Error& error) {
    return stop(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return stop(too_large, 2);
  } catch (const std::length_error&) {  // what std::vector throws for more than it could ever hold
    return stop(too_large, 2);
  } catch (const std::exception& error) {  // a CudaError outside of a row, say
    return stop(error.what(), 1);
  }
}

}  // namespace tutorial
