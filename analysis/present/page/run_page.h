#pragma once

#include <string>
#include <vector>

#include "analysis/causes/explanation.h"
#include "analysis/present/advice_report.h"
#include "analysis/present/page/page.h"
#include "analysis/present/run_report.h"

namespace pipetrace {

/// A figure of a run on its page. Plain texts.
struct RunCard {
  std::string figure;  ///< "33.7 %"
  std::string name;    ///< "bubble ratio"
  std::string detail;  ///< "mean; median 33.7 %"
};

/// The figures that are asked for first, as far as they are known.
std::vector<RunCard> runCards(const Explanation& run);

/// The texts of a page that are not in the report.
struct RunPageOptions {
  std::string name;                        ///< the run's, such as its inputs; plain text
  std::string version;                     ///< of the program that writes the page
  std::vector<AdviceSentence> advice;      ///< what to change, the best first; empty: none
  std::vector<std::string> adviceNotes{};  ///< what it rests on; empty: nothing
  /// On a page of several runs: which one it is, such as "A". Ids of sections then begin with "a-".
  std::string run;
  /// The run beside it, whose tables and charts then have the same columns and scales. Figures and
  /// the chart of the step are left out, as they stand in sections of both runs.
  const Explanation* beside = nullptr;
};

/// The report as a page: its sentences, the chart of the median step, bubbles by rank, ranks and
/// steps, who costs whom, tables, and what all of it rests on. Takes time
/// proportional to the number of events, and little of it for steps that the chart does not show.
/// The run must have ranks that compute.
std::string runPage(const RunReport& report, const RunPageOptions& options);

/// The sections of that page, in its order. For pages that lay several runs beside each other.
std::vector<PageSection> runSections(const RunReport& report, const RunPageOptions& options);

}  // namespace pipetrace
