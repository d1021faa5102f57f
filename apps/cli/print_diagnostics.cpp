#include "apps/cli/print_diagnostics.h"

#include <cstdio>

#include "analysis/present/diagnostic_lines.h"

namespace pipetrace {

void printDiagnostics(const Diagnostics& diagnostics, Severity lowest) {
  for (const std::string& line : diagnosticLines(diagnostics, lowest)) {
    std::fputs((line + "\n").c_str(), stderr);
  }
}

}  // namespace pipetrace
