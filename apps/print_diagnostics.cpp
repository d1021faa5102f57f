#include "apps/print_diagnostics.h"

#include <cstdio>

namespace pipetrace {

void printDiagnostics(const Diagnostics& diagnostics, Severity lowest) {
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity < lowest) continue;
    std::fputs((toText(diagnostic) + "\n").c_str(), stderr);
  }
}

}  // namespace pipetrace
