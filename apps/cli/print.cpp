#include "apps/cli/print.h"

#include <cstdio>
#include <string>

#include "analysis/present/diagnostic_lines.h"
#include "trace/files/output_file.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {

void printText(std::string_view text) { writeWholeFile("-", fitToPrint(text)); }

void printError(std::string_view text) {
  if (text.empty()) return;
  std::string fit = fitToPrint(text);
  if (!fit.ends_with('\n')) fit += '\n';
  std::fputs(fit.c_str(), stderr);
}

void printDiagnostics(const Diagnostics& diagnostics, Severity lowest) {
  for (const std::string& line : diagnosticLines(diagnostics, lowest)) printError(fitInLine(line));
}

}  // namespace pipetrace
