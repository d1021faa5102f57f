#include "apps/cli/print.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "analysis/present/diagnostic_lines.h"
#include "chart/text/text_chart.h"
#include "trace/files/output_file.h"
#include "trace/files/standard_streams.h"
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

std::optional<int> terminalColumns() {
  const int columns = columnsOfTerminal(STDOUT_FILENO);
  return columns > 0 ? std::optional(columns) : std::nullopt;
}

int lineColumns() {
  constexpr int kUsual = 100;
  if (const auto columns = terminalColumns())
    return std::clamp(*columns, kMinTextChartWidth, kMaxTextChartWidth);
  const char* const text = std::getenv("COLUMNS");
  const std::string_view given = text == nullptr ? "" : text;
  int columns = 0;
  const auto [rest, error] = std::from_chars(given.data(), given.data() + given.size(), columns);
  const bool isNumber = error == std::errc() && rest == given.data() + given.size() && columns > 0;
  return isNumber ? std::clamp(columns, kMinTextChartWidth, kMaxTextChartWidth) : kUsual;
}

bool showsColors() {
  if (::isatty(STDOUT_FILENO) == 0) return false;
  const char* const noColor = std::getenv("NO_COLOR");
  if (noColor != nullptr && *noColor != '\0') return false;
  const char* const term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace pipetrace
