#include "tests/bench/viewer_table.h"

#include <cstdio>

namespace pipetrace::bench {
namespace {

std::string goalText(const std::optional<double>& goal) {
  if (!goal) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", *goal);
  return text;
}

}  // namespace

void printHeading() {
  std::printf("%-52s %10s %-5s %7s %7s\n", "what", "measured", "", "must", "beyond");
}

void print(const ViewerFigure& figure) {
  const char* verdict = "";
  if (figure.must) verdict = figure.measured <= *figure.must ? "reached" : "MISSED";
  if (figure.beyond && figure.measured <= *figure.beyond) verdict = "beyond";
  std::printf("%-52s %10.4g %-5s %7s %7s  %s%s%s\n", figure.what.c_str(), figure.measured,
              figure.unit.c_str(), goalText(figure.must).c_str(), goalText(figure.beyond).c_str(),
              verdict, figure.note.empty() ? "" : "  ", figure.note.c_str());
  std::fflush(stdout);
}

}  // namespace pipetrace::bench
