#pragma once

#include <string>

#include "analysis/page/page_table.h"
#include "analysis/present/run_report.h"

namespace pipetrace {

// The tables of a run's page, as HTML; empty where there is nothing to list. Long ones have the
// rows that cost most, and say so.

/// Busy and idle time of each rank, with a bar of its work and of its bubbles by class. It has the
/// classes of this run and of `beside`, if that is not null.
std::string rankTableHtml(const Explanation& run, const Explanation* beside = nullptr);

/// Which rank waits for which. Colours go up to the largest time of this run and of `beside`.
std::string costTableHtml(const Explanation& run, const Explanation* beside = nullptr);

/// The figures of each step.
std::string stepTableHtml(const Explanation& run);

/// How long jobs and messages of each stage take, and how much later jobs could end.
std::string stageTableHtml(const RunReport& report);

/// The longest bubbles with their culprits.
std::string bubbleTableHtml(const RunReport& report);

/// RunReport::names.
std::string nameTableHtml(const RunReport& report);

}  // namespace pipetrace
