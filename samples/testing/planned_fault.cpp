#include "samples/testing/planned_fault.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pipetrace {

bool PlannedFault::isHere() const {
  const char* const own = std::getenv("RANK");
  return own == nullptr || rank == std::atoi(own);
}

PlannedFault plannedFault() {
  PlannedFault fault;
  if (const char* const text = std::getenv("PIPETRACE_FAULT")) {
    std::istringstream(text) >> fault.kind >> fault.rank >> fault.step >> fault.seconds >>
        fault.call;
  }
  return fault;
}

void markFault() {
  if (const char* const path = std::getenv("PIPETRACE_FAULT_MARK")) std::ofstream{path};
}

}  // namespace pipetrace
