#pragma once

#include <optional>
#include <string>

namespace pipetrace::bench {

/// One figure of the viewer and its goals, in the same unit; less is better.
struct ViewerFigure {
  std::string what;
  double measured = 0;
  std::string unit;
  std::optional<double> must;
  std::optional<double> beyond;
  std::string note;  ///< other measurements of it
};

void printHeading();
/// Prints a line: "beyond", "reached" or "MISSED" if it has goals.
void print(const ViewerFigure& figure);

}  // namespace pipetrace::bench
