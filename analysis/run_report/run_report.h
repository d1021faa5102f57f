#pragma once

#include <string>

#include "analysis/advice/advice.h"
#include "analysis/clocks/alignment.h"
#include "analysis/explain/explanation.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// An explained run to report on.
struct RunReport {
  const Timeline& timeline;
  const Explanation& explanation;
  const Diagnostics& diagnostics;
  const Alignment* alignment = nullptr;  ///< null: not known
  /// Every finding; in JSON also every bubble and slack. Else the most expensive findings and, in
  /// JSON, the largest bubbles.
  bool all = false;
  /// The command that shows the run, such as "pipe-view logs". The text names it with each finding,
  /// with a query that finds the evidence. Empty: there is none.
  std::string viewCommand = {};
  const AdviceList* advice = nullptr;  ///< null: nobody asked
};

/// The report as text: findings first, then numbers. Ends with a newline.
std::string runReportText(const RunReport& report);

/// The report as one JSON object, as docs/report.schema.json describes it. Times are whole
/// nanoseconds. Ends with a newline.
std::string runReportJson(const RunReport& report);

}  // namespace pipetrace
