#include "apps/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "chart/text/text_chart.h"
#include "trace/files/standard_streams.h"

namespace pipetrace {

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
