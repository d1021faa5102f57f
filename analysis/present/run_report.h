#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/explanation.h"
#include "analysis/run/clocks/alignment.h"
#include "analysis/run/doubts.h"
#include "analysis/time_by_name.h"
#include "analysis/what_if/advice.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// An explained run to report on.
struct RunReport {
  const Explanation& explanation;
  const Diagnostics& diagnostics;
  const Alignment* alignment = nullptr;  ///< null: not known
  /// Every finding; in JSON also every bubble and slack. Else the most expensive findings and, in
  /// JSON, the largest bubbles.
  bool all = false;
  /// The command that shows the run, such as "pipe-view logs". The text names it with each finding,
  /// with a query that finds the evidence. Empty: there is none.
  std::string viewCommand = {};
  const AdviceList* advice = nullptr;              ///< null: nobody asked
  std::vector<Doubt> doubts = {};                  ///< doubtsOf(); the report begins with them
  const std::vector<TimeByName>* names = nullptr;  ///< timesByName(); null: nobody asked
};

/// The report as text: findings first, then numbers. Ends with a newline.
std::string runReportText(const RunReport& report);

/// The report as one JSON object, as docs/report.schema.json describes it. Times are whole
/// nanoseconds. Ends with a newline.
std::string runReportJson(const RunReport& report);

/// The time by operator, kernel or job and rank, as a table below a line of its own. The first
/// rows, or all.
std::string timeByNameText(const std::vector<TimeByName>& names, bool all);

// The words that all forms of a report share: lines, which have no newline.

using Lines = std::vector<std::string>;

/// A line for each doubt about the run, with what to do.
Lines doubtLines(const RunReport& report);

/// Lines about the run: ranks, steps and jobs, the schedule that it followed, its phases, and which
/// steps count.
Lines runHeadLines(const RunReport& report);

/// The findings that a report shows, the most expensive first: all of them, or the first of those
/// that are not minor.
struct ShownFindings {
  std::vector<const Finding*> list;  ///< point into the report's explanation
  std::size_t left = 0;              ///< that are not minor, and not shown
};
ShownFindings shownFindings(const RunReport& report);
/// Whether a finding is listed with RunReport::all alone: it is minor (Finding::isMinor), and no
/// advice says that steps would be shorter by kMinorShare without it, as where messages that wait
/// for each other pass on what it costs.
bool isMinor(const RunReport& report, const Finding& finding);

/// The line of a report without findings. A sentence without a full stop.
std::string noFindings(const Explanation& run);

/// The command that shows the evidence of a finding; empty where there is none.
std::string findCommandOf(const RunReport& report, const Finding& finding);

/// "tensor-parallel all-reduce".
std::string groupText(const std::string& use, JobKind kind);

/// The advice on a finding that follows from the run itself again; null: there is none.
const Advice* adviceOf(const RunReport& report, const Finding& finding);
/// Of slow stages: what it would bring if all stages took equally long; else null.
const Advice* balanceOf(const RunReport& report, const Finding& finding);
/// "the step would take 348.4 ms, 11.2 % less"; empty where nothing says it.
std::string gainText(const RunReport& report, const Finding& finding);

/// The parts of the critical path, by kind of job and by stage; none where it is not known. It
/// names at most 16 stages: those with the most of it, the largest first.
Lines pathLines(const Explanation& run);

/// How much slower the run is than its ideal; then the stage, replica and kind that cost most of
/// it, and what the slowest ranks cost.
Lines slowdownLines(const Explanation& run);

/// Communication, tokens a second and the use of the devices, as far as they are known.
Lines communicationLines(const Explanation& run);

/// A query that finds the evidence of a finding of the report, and nothing else; empty where there
/// is no evidence. pipe-view's search reads it.
std::string findQueryOf(const RunReport& report, const Finding& finding);

}  // namespace pipetrace
