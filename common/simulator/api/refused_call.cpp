#include "simulator/refused_call.h"

#include <string>

#include "common/simulator/device/report.hpp"

void simulator::refuse_call(const char* function, const char* instead,
                            const std::source_location& where) {
  publish("call of " + std::string(function) + "  " + file_line(where) +
              "\n  is not on the CPU backend: " + instead + "\n",
          cudaErrorNotSupported);
}
